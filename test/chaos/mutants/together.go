package mutants

import "adsync/test/patch"

// ofTogether are the mutants of transactions that pulls share, and of the digests of unchanged days.
var ofTogether = []Mutant{
	{
		Name: "first-fence-only", Breaks: "of the pulls in a shared transaction only the first one has its fence checked",
		Edits: []patch.Edit{{
			File: "base/store/results/together.go",
			Find: "	for _, p := range waiting {\n		if pull := join(p, found[p.of.key()]); pull != nil {\n",
			Replace: "	for i, p := range waiting {\n		own := found[p.of.key()]\n		for j := range own {\n" +
				"			if i > 0 {\n				own[j].ClaimedVersion = 0\n			}\n		}\n" +
				"		if pull := join(p, own); pull != nil {\n",
		}},
		Scenarios: []string{"consumer-paused-in-a-pull", "same-subtask-at-once"},
	},
	{
		Name: "refused-pull-committed", Breaks: "a shared transaction also commits the rows of a pull that its fence refuses",
		Edits: []patch.Edit{{
			File: "base/store/results/together.go",
			Find: "		v.err = v.value.w.failed(err)\n		return nil\n	}\n",
			Replace: "		v.err = v.value.w.failed(err)\n		scope = lockedScope{Claim: v.value.w.Claim, before: own}\n" +
				"	}\n",
		}},
		Scenarios: []string{"consumer-paused-in-a-pull", "same-subtask-at-once"},
	},
	{
		Name: "digest-without-json", Breaks: "a day's digest ignores the rows' JSON and cost: changed figures look unchanged",
		Edits: []patch.Edit{{
			File:    "base/store/results/digest.go",
			Find:    "	d.number(cost)\n	d.text(r.JSON)\n",
			Replace: "	_ = cost\n",
		}},
		Scenarios: []string{"consumer-killed"},
	},
}
