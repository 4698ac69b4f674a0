"""Who may do what, as a value: capabilities, policy rules, and the rights compiled from them."""
