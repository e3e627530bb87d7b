package verify

// worlds are the platforms whose rows are compared, a line each.
var worlds = []world{
	tencent,
	oceanEngine,
}
