/* The part Recipe: the recipe in an editor. */
import { make, tab } from "./ui.js";

tab("recipe", { open(panel) { panel.replaceChildren(make("h1", {}, "Recipe")); } });
