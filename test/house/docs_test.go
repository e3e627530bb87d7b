package house_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// The limits of documents.
const (
	readmeLinesMax       = 150
	pageLinesMax         = 400
	docColumnsMax        = 120
	architectureRowsMax  = 15
	architecture         = "docs/architecture.md"
	architectureRowsHead = "| you look for | it is in |"
	runbook              = "docs/operations.md"
)

// notDocs are places whose texts name documents of trees that a test makes.
var notDocs = regexp.MustCompile(`^(test/trial/|test/house/)|(^|/)(testdata|node_modules|\.[^/]+)/`)

func TestDocs_AreWithinTheirLimitsAndTheirLinksResolve(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	d, err := readDocs(root)
	require.NoError(t, err)
	require.Greater(t, len(d.pages), 30, "the documents were found")
	require.Greater(t, len(d.texts), 500, "the code was found")
	require.Empty(t, d.judge())
}

func TestDocs_EachFaultIsFound(t *testing.T) {
	t.Parallel()
	rows := architectureRowsHead + "\n|---|---|\n" + strings.Repeat("| a | b |\n", 16)
	otherRows := "\n\n| other | table |\n" + strings.Repeat("| c | d |\n", 20)
	page := func(lines ...string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(strings.Join(lines, "\n") + "\n")}
	}
	d, err := readDocs(fstest.MapFS{
		"README.md":    page("# A", strings.Repeat("\n", 149)),
		"docs/long.md": page("# Long", strings.Repeat("\n", 399)),
		"docs/wide.md": page("# Wide", "", strings.Repeat("é", 120), strings.Repeat("é", 121)),
		architecture:   page("# How", rows, otherRows),
		"docs/links.md": page("# A", "## It's `--so`", "## Twice", "## Twice",
			"[a](#its---so) [b](#twice-1) [c](wide.md#wide) [d](https://x/y.md)",
			"[e](#gone) [f](gone.md) [g](wide.md#gone) [h](../docs)",
			"```", "[i](gone)", "# no heading", "```", "`TestThere` `TestGone_A`"),
		runbook: page("# Runbook",
			"### AdsyncGood", "- **Cause:** a", "- **Confirm:** b", "- **Remedy:** c",
			"### AdsyncBoth", "- **Cause:** a", "- **Confirm and remedy:** b",
			"### AdsyncBad", "- **Confirm:** b", "- **Cause:** a", "- **Remedy:** c"),
		"a/a.go":                    page("// See docs/wide.md#wide, docs/wide.md#no and docs/none.md."),
		"a/a_test.go":               page("func TestThere(t *testing.T) {}"),
		"configs/prometheus/r.yml":  page("- alert: AdsyncGood", "- alert: AdsyncBad", "- alert: AdsyncNew"),
		"configs/prometheus/p.yml":  page("runbooks: https://git.example.com/adsync/blob/main/docs/other.md"),
		"test/trial/of_trees.go":    page("docs/far.md"),
		"a/testdata/of_test.golden": page("docs/far.md"),
	})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		"README.md: 151 lines, and 150 are allowed",
		"docs/long.md: 401 lines, and 400 are allowed",
		"docs/wide.md:4: 121 columns, and 120 are allowed",
		"docs/architecture.md: 16 rows of what you look for, and 15 are allowed",
		"docs/links.md: #gone is linked to, and there is no such heading",
		"docs/links.md: gone.md is linked to, and there is no such file",
		"docs/links.md: wide.md#gone is linked to, and there is no such heading",
		"docs/links.md: TestGone_A is named, and there is no such test",
		"docs/operations.md: AdsyncBad needs its cause, how to confirm it, and its remedy, in this order",
		"docs/operations.md: the alert AdsyncNew has no section",
		"a/a.go: docs/wide.md#no is named, and there is no such heading",
		"a/a.go: docs/none.md is named, and there is no such file",
		"configs/prometheus/p.yml: docs/other.md is named, and there is no such file",
	}, d.judge())
}

// docs are the documents of a tree and its other texts, by their path.
type docs struct {
	tree  fs.FS
	pages map[string]string
	texts map[string]string
}

func readDocs(tree fs.FS) (*docs, error) {
	d := &docs{tree: tree, pages: map[string]string{}, texts: map[string]string{}}
	return d, fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && (notDocs.MatchString(name+"/") || name == "bin"):
			return fs.SkipDir
		case !e.Type().IsRegular() || notDocs.MatchString(name):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		switch {
		case err != nil:
			return err
		case path.Ext(name) == ".md":
			d.pages[name] = string(text)
		case utf8.Valid(text):
			d.texts[name] = string(text)
		}
		return nil
	})
}

// judge returns what is wrong, one line each.
func (d *docs) judge() (wrong []string) {
	tests := d.tests()
	for _, name := range slices.Sorted(maps.Keys(d.pages)) {
		wrong = slices.Concat(wrong, d.overLimits(name), d.deadLinks(name))
		for _, test := range testName.FindAllString(d.pages[name], -1) {
			if !tests[test] {
				wrong = append(wrong, name+": "+test+" is named, and there is no such test")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.texts)) {
		for _, ref := range docName.FindAllString(d.texts[name], -1) {
			if fault := d.fault(ref); fault != "" {
				wrong = append(wrong, name+": "+ref+" is named, and there is no such "+fault)
			}
		}
	}
	return slices.Concat(wrong, d.alerts())
}

var (
	testName  = regexp.MustCompile(`\bTest[A-Z]\w+`)
	testFunc  = regexp.MustCompile(`\bfunc (Test\w+)\(`)
	docName   = regexp.MustCompile(`\bdocs/[\w/-]+\.md(#[\w-]+)?`)
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	alertName = regexp.MustCompile(`\balert: (Adsync\w+)`)
	inOrder   = regexp.MustCompile(`(?s)\*\*Cause:\*\*.*(\*\*Confirm:\*\*.*\*\*Remedy:\*\*|\*\*Confirm and remedy:\*\*)`)
)

// tests returns the names of all tests.
func (d *docs) tests() map[string]bool {
	names := map[string]bool{}
	for _, text := range d.texts {
		for _, found := range testFunc.FindAllStringSubmatch(text, -1) {
			names[found[1]] = true
		}
	}
	return names
}

func (d *docs) overLimits(name string) (wrong []string) {
	most := pageLinesMax
	switch name {
	case "README.md":
		most = readmeLinesMax
	case "CHANGELOG.md":
		most = 1 << 20 // It grows with each release.
	}
	rows, inTable, n := 0, false, 0
	for line := range strings.Lines(d.pages[name]) {
		n++
		line = strings.TrimRight(line, "\n")
		if columns := utf8.RuneCountInString(line); columns > docColumnsMax {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %d columns, and %d are allowed", name, n, columns, docColumnsMax))
		}
		inTable = strings.HasPrefix(line, "|") && (inTable || line == architectureRowsHead)
		if inTable {
			rows++
		}
	}
	if n > most {
		wrong = append(wrong, fmt.Sprintf("%s: %d lines, and %d are allowed", name, n, most))
	}
	if rows -= 2; name == architecture && rows > architectureRowsMax {
		wrong = append(wrong,
			fmt.Sprintf("%s: %d rows of what you look for, and %d are allowed", name, rows, architectureRowsMax))
	}
	return wrong
}

// deadLinks returns the links of a page to files of the tree, or headings of them, that do not exist.
func (d *docs) deadLinks(name string) (wrong []string) {
	for _, found := range link.FindAllStringSubmatch(withoutCode(d.pages[name]), -1) {
		target := found[1]
		if strings.Contains(target, "://") {
			continue
		}
		ref := path.Join(path.Dir(name), target)
		if strings.HasPrefix(target, "#") {
			ref = name + target
		}
		if fault := d.fault(ref); fault != "" {
			wrong = append(wrong, name+": "+target+" is linked to, and there is no such "+fault)
		}
	}
	return wrong
}

// fault returns what a reference to a file, with or without a heading's anchor, lacks: "file", "heading" or nothing.
func (d *docs) fault(ref string) string {
	file, anchor, anchored := strings.Cut(ref, "#")
	if _, err := fs.Stat(d.tree, file); err != nil {
		return "file"
	}
	if anchored && !slices.Contains(anchors(d.pages[file]), anchor) {
		return "heading"
	}
	return ""
}

// alerts returns the alerts without a section in the runbook, and sections that lack a part.
func (d *docs) alerts() (wrong []string) {
	sections := map[string]string{}
	for _, section := range strings.Split(d.pages[runbook], "\n### ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		sections[name] = text
		if strings.HasPrefix(name, "Adsync") && !inOrder.MatchString(text) {
			wrong = append(wrong, runbook+": "+name+" needs its cause, how to confirm it, and its remedy, in this order")
		}
	}
	for name, text := range d.texts {
		if !strings.HasPrefix(name, "configs/prometheus/") {
			continue
		}
		for _, alert := range alertName.FindAllStringSubmatch(text, -1) {
			if _, there := sections[alert[1]]; !there {
				wrong = append(wrong, runbook+": the alert "+alert[1]+" has no section")
			}
		}
	}
	return wrong
}

// withoutCode returns a page without its fenced blocks.
func withoutCode(page string) string {
	parts := strings.Split("\n"+page, "\n```")
	var text strings.Builder
	for i := 0; i < len(parts); i += 2 {
		text.WriteString(parts[i] + "\n")
	}
	return text.String()
}

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(page string) (all []string) {
	seen := map[string]int{}
	for line := range strings.Lines(withoutCode(page)) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(strings.TrimLeft(line, "#")))
		if n := seen[anchor]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", anchor, n))
		} else {
			all = append(all, anchor)
		}
		seen[anchor]++
	}
	return all
}
