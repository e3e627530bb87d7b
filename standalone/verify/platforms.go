package verify

// worlds are the platforms whose rows are compared, one per line.
var worlds = []world{
	tencent,
	oceanEngine,
	kuaishou,
	tiktok,
	baidu,
	bilibili,
}
