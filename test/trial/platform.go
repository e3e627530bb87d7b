package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// places returns a platform's own files and directories below the root of the module.
func places(platform string) []string {
	return []string{"media/" + platform, "simulator/" + platform, "standalone/verify/" + platform + ".go"}
}

// list is a file that names each platform in a line of its elements, and, if it imports packages, in an import line.
type list struct {
	file     string
	packages string // the directory of the packages; "" if the list imports none
}

var lists = []list{{"engine/platforms.go", "media"}, {"simulator/platforms.go", "simulator"},
	{file: "standalone/verify/platforms.go"}}

// takeOut removes a platform's places from the tree at root, and its lines from the lists. Its page stays, since others
// link to it. If a place or a line is missing it fails and changes nothing.
func takeOut(root, platform string) error {
	code := places(platform)
	for _, place := range code {
		if _, err := os.Stat(filepath.Join(root, place)); err != nil {
			return fmt.Errorf("%q is no platform: %w", platform, err)
		}
	}
	without := map[string]string{}
	for _, l := range lists {
		text, err := os.ReadFile(filepath.Join(root, l.file))
		if err != nil {
			return err
		}
		if without[l.file], err = l.without(string(text), platform); err != nil {
			return err
		}
	}
	for _, place := range code {
		if err := os.RemoveAll(filepath.Join(root, place)); err != nil {
			return err
		}
	}
	for file, text := range without {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// without returns the text of a list without a platform's lines. The line of the elements is PLATFORM.New() if packages
// are imported, otherwise a variable with the platform's name.
func (l list) without(text, platform string) (string, error) {
	lines := []string{platform}
	if l.packages != "" {
		lines = []string{`"adsync/` + l.packages + "/" + platform + `"`, platform + ".New()"}
	}
	for _, line := range lines {
		is := func(s string) bool { return strings.EqualFold(strings.TrimSuffix(strings.TrimSpace(s), ","), line) }
		all := strings.SplitAfter(text, "\n")
		rest := slices.DeleteFunc(slices.Clone(all), is)
		if len(all)-len(rest) != 1 {
			return "", fmt.Errorf("%s has %d lines that are %s, want one", l.file, len(all)-len(rest), line)
		}
		text = strings.Join(rest, "")
	}
	return text, nil
}
