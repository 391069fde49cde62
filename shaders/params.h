/* one step block and push structs: see STYLE.md */
