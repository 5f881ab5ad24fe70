-- A filter of pandoc's: formulas as text; one that has no such form stays TeX between dollars.
-- A comma between digits is that of a number, and a gap between two numbers stays a gap.
function Math(formula)
  local tex = formula.text:gsub('(%d){?,}?%f[%d]', '%1\\text{,}')
  formula.text = tex:gsub('([%d}])%s+%f[%d{\\]', '%1\\; ')
  local html = pandoc.write(pandoc.Pandoc{pandoc.Plain{formula}}, 'html')
  return pandoc.utils.blocks_to_inlines(pandoc.read(html, 'html').blocks)
end
