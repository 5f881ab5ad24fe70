from functools import partial

from tests.tables import plans
from tests.tables.plans import config_of, trained

plan_of = partial(plans.plan_of, "mfcl")


def test_normalisations_differ_in_the_client_module_alone() -> None:
    plan = plan_of("paper", "5")
    runs = [trained(config_of(plan, norm, "ξ = 0.01|MFCL")) for norm in ("BN", "GN", "TN")]
    assert [run.encoder["client_norm"] for run in runs] == ["batch", "group", "twin"]
    assert {run.encoder["client_layers"] for run in runs} == {2}
    assert all(run.encoder["modular"] for run in runs)
    whole = trained(config_of(plan, "TN", "ξ = 0.01|FedSimCLR"))
    assert (whole.encoder["modular"], whole.encoder["client_layers"]) == (False, 2)


def test_one_training_serves_the_tables_that_repeat_it() -> None:
    cell = ("MFCL(TN)", "CIFAR-10|ξ = 0.01")
    first = config_of(plan_of("paper", "2"), *cell)
    assert first == config_of(plan_of("paper", "14"), *cell)
    assert first == config_of(plan_of("paper", "6"), "MFCL(TN)", "No Encryption")
    assert first == config_of(plan_of("paper", "5"), "TN", "ξ = 0.01|MFCL")
    attack = config_of(plan_of("paper", "8"), "Reconstructed x", "C0D1")
    assert trained(attack) == trained(first)


def test_maps_of_figure_9_are_of_raw_data_and_of_three_normalisations() -> None:
    drawn = {one.cell.parts: one.config for one in plan_of("paper", "figure-9").drawings}
    assert len(drawn) == 4
    raw, *learnt = drawn.values()
    assert raw is not None
    assert (raw.options["at"], raw.options["clients"]) == ("pixels", 1)
    norms = [trained(config).encoder["client_norm"] for config in learnt if config is not None]
    assert norms == ["batch", "group", "twin"]
    dealt = trained(raw).clients
    assert dealt is not None
    assert dealt["count"] * dealt["samples"] == 50_000
    assert (dealt["classes"], dealt["novel"]) == (2, 0)


def test_costs_are_counted_at_the_papers_setting_once_for_all_three() -> None:
    costs = ("α (bits)", "β (FLOPs)", "γ (Byte)")
    runs = {profile: plan_of(profile, "4") for profile in ("paper", "reduced")}
    for row in ("HeteroFL", "Split-Mix", "FedPAC", "MFCL(TN)"):
        found = {config_of(plan, row, cost) for plan in runs.values() for cost in costs}
        assert len(found) == 1
        (config,) = found
        assert (config.stage, config.data["image_size"]) == ("costs", 32)
        assert config.encoder["width"] == 64
        assert config.clients == {"count": 10, "images": 5000, "code_rate": "1/3"}
        assert runs["reduced"].seeds(config) == (0,)
    cell = next(c for c in runs["reduced"].cells if c.cell.column == ("α (bits)",))
    assert cell.departures == ()
    by_table = {id: config_of(plan_of("paper", id), "MFCL(TN)", costs[0]) for id in ("4", "15")}
    assert by_table["4"] != by_table["15"]


def test_saliency_is_of_each_clients_own_module() -> None:
    plan = plan_of("paper", "figure-4")
    for number, row in enumerate(("Client 1", "Client 2")):
        config = config_of(plan, row, "rare half|MFCL(TN)")
        assert (config.method, config.options["client"]) == ("saliency", number)
        start = trained(config)
        assert start.options["client_models"]
        assert start.clients is not None
        assert start.clients["counts"] == [[4950, 50], [50, 4950]]
    assert len(plan.drawings) == 4


def test_supervised_methods_are_measured_as_they_were_trained() -> None:
    plan = plan_of("paper", "4")
    for row in ("HeteroFL", "Split-Mix", "FedPAC"):
        assert config_of(plan, row, "ACC|ξ = 200").stage == "federated"
    assert config_of(plan, "MFCL(TN)", "ACC|ξ = 200").stage == "measurement"
