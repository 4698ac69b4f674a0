"""One evaluation in, plans and an outcome out; nothing is touched."""
