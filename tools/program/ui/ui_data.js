/* The part Data: choose a file or folder, see what is in it. */
import { make, tab } from "./ui.js";

tab("data", { open(panel) { panel.replaceChildren(make("h1", {}, "Data")); } });
