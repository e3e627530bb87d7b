package mutants

import "adsync/test/patch"

// verification is the code that compares what was uploaded before it gets its name.
const verification = "	if err := d.place.Verify(ctx, f, token, d.s.Verify == verifyReadback); err != nil {\n" +
	"		return atPlace(\"verify the uploaded file\", err)\n	}\n"

// ofFiles are the mutants of report files.
var ofFiles = []Mutant{
	{
		Name: "files-not-discarded", Breaks: "what earlier tries have uploaded stays while a file gets its name",
		Edits: []patch.Edit{{
			File: "publish/delivery.go",
			Find: "	if err := d.place.Discard(ctx, d.p.Name, d.p.Delivery); err != nil {\n" +
				"		return atPlace(\"delete what earlier tries have left\", err)\n	}\n" +
				"	if err := d.newest(ctx); err != nil {\n",
			Replace: "	if err := d.newest(ctx); err != nil {\n",
		}},
		Scenarios: []string{"publish-paused-before-rename"},
	},
	{
		Name: "files-not-fenced", Breaks: "a try that lost its row gives its file the name",
		Edits: []patch.Edit{{
			File: "publish/delivery.go",
			Find: "	if err := d.step(ctx, publishing.Verified); err != nil {\n		return err\n	}\n" +
				"	failpoint.Hit(\"publish.verified\")\n",
			Replace: "	failpoint.Hit(\"publish.verified\")\n",
		}},
		Scenarios: []string{"publish-two-tries"},
	},
	{
		Name: "files-row-not-owned", Breaks: "a try changes the row of a file that a later one has taken over",
		Edits: []patch.Edit{{
			File:    "base/store/publishing/publication.go",
			Find:    "Where(\"delivery = ? AND state IN ?\", p.Delivery, openStates).\n			Select(stepColumns)",
			Replace: "Where(\"id = ?\", p.ID).\n			Select(stepColumns)",
		}},
		Scenarios: []string{"publish-paused-before-upload"},
	},
	{
		Name: "files-not-verified", Breaks: "what arrived is not compared with what was sent",
		Edits:     []patch.Edit{{File: "publish/delivery.go", Find: verification}},
		Scenarios: []string{"publish-server-refuses"},
	},
	{
		Name: "files-named-first", Breaks: "a file gets its name before it is compared",
		Edits: []patch.Edit{{
			File: "publish/delivery.go", Find: verification,
			Replace: "	if err := d.place.Reveal(ctx, f, token, true); err != nil {\n" +
				"		return atPlace(\"give the file its name\", err)\n	}\n" +
				"	if same, _, err := d.place.Visible(ctx, f); err != nil || !same {\n" +
				"		return atPlace(\"verify the uploaded file\", errors.Join(err, place.ErrNotWhole))\n	}\n",
		}},
		Scenarios: []string{"publish-server-refuses"},
	},
	{
		Name: "files-any-part", Breaks: "a part file is used whose SHA-256 is not that of the row",
		Edits: []patch.Edit{{
			File: "publish/spool.go",
			Find: "	f, err := os.Open(filepath.Join(s.dir, partName(id, sum)))\n",
			Replace: "	name := partName(id, sum)\n	for _, e := range s.entries() {\n" +
				"		if strings.HasPrefix(e.Name(), strconv.FormatInt(id, 10)+\"-\") {\n			name = e.Name()\n		}\n	}\n" +
				"	f, err := os.Open(filepath.Join(s.dir, name))\n",
		}},
		Scenarios: []string{"publish-part-file"},
	},
	{
		Name: "files-newest-not-sought", Breaks: "an older revision replaces a newer one",
		Edits: []patch.Edit{{
			File:    "publish/delivery.go",
			Find:    "	if err := d.newest(ctx); err != nil {\n		return err\n	}\n",
			Replace: "",
		}},
		Scenarios: []string{"publish-overtaken"},
	},
}
