-- Links between pages: to .html, README to index; links out of docs/ stay as text.
function Link(link)
  local to = link.target
  if to:match("^%a+://") or to:match("^#") then return link end
  local file, anchor = to:match("^([^#]*)(#?.*)$")
  if not file:match("%.md$") or file:match("^%.%./%.%./%u") then return link.content end
  link.target = file:gsub("README%.md$", "index.md"):gsub("%.md$", ".html") .. anchor
  return link
end
