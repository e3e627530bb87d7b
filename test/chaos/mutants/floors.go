package mutants

import "adsync/test/patch"

// ofFloors are the mutants of exclusive work.
var ofFloors = []Mutant{
	{
		Name: "floor-without-drain", Breaks: "an exclusive subtask does not wait for the work of others",
		Edits: []patch.Edit{{
			File:    "base/store/exclusion/queue.go",
			Find:    "	case len(busy) == 0 && now.Sub(q.since) >= Silence:\n",
			Replace: "	case now.Sub(q.since) >= Silence:\n",
		}},
		Scenarios: []string{"exclusive-everything"},
	},
	{
		Name: "floor-dropped-at-takeover", Breaks: "a floor belongs to a process: the next one asks again, behind others",
		Edits: []patch.Edit{{
			File: "base/store/exclusion/queue.go",
			Find: "	i := q.find(want.Key)\n	if i < 0 {\n		if !now.Before",
			Replace: "	i := q.find(want.Key)\n	if i >= 0 && q.floors[i].Claim != want.Claim {\n" +
				"		q.floors, i = slices.Delete(q.floors, i, i+1), -1\n	}\n	if i < 0 {\n		if !now.Before",
		}},
		Scenarios: []string{"exclusive-everything"},
	},
}
