package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// pkg is an entry of `go list -test`: a package, or a package's test binary, whose path ends in ".test".
type pkg struct {
	ImportPath, Dir           string
	Deps                      []string // all packages that it is compiled from, tests' variants as "PATH [OF.test]"
	TestGoFiles, XTestGoFiles []string
}

const testBinary = ".test"

// slow are the packages whose tests play whole days of all platforms. They name no platform of their own, so that the
// quick tests nearly always show what is missing without one.
var slow = []string{"standalone", "standalone/verify", "test/e2e", "test/platforms"}

// isSlow reports whether the package of a path within the module is one of those.
func isSlow(importPath string) bool {
	_, name, _ := strings.Cut(importPath, "/")
	return slices.Contains(slow, name)
}

// outside matches a path in a test that leads out of the package's directory.
var outside = regexp.MustCompile(`"\.\.["/]`)

// touched returns the packages of the module at root whose tests can fail without the platform: those whose test
// binary is compiled from a removed package or from one that holds a list, and those whose tests read files of other
// directories. The tests of all other packages are the same code on the same files without the platform. The removed
// packages are left out.
func touched(ctx context.Context, root, platform string) ([]string, error) {
	list, err := command(ctx, root, nil, "go", "list", "-test", "-json=ImportPath,Dir,Deps,TestGoFiles,XTestGoFiles",
		"./...")
	if err != nil {
		return nil, err
	}
	packages, err := parse(list)
	if err != nil {
		return nil, err
	}
	module, err := command(ctx, root, nil, "go", "list", "-m")
	if err != nil {
		return nil, err
	}
	return touchedOf(packages, strings.TrimSpace(module), platform)
}

func parse(list string) ([]pkg, error) {
	var packages []pkg
	for d := json.NewDecoder(strings.NewReader(list)); ; {
		var p pkg
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		packages = append(packages, p)
	}
}

func touchedOf(packages []pkg, module, platform string) ([]string, error) {
	changed := map[string]bool{}
	for _, l := range lists {
		changed[path.Join(module, path.Dir(l.file))] = true
	}
	code := places(platform)
	removed := func(name string) bool {
		for _, place := range code {
			if place = path.Join(module, place); name == place || strings.HasPrefix(name, place+"/") {
				return true
			}
		}
		return false
	}
	compiled := map[string]bool{} // test binaries, by the package, that hold changed code
	for _, p := range packages {
		if name, is := strings.CutSuffix(p.ImportPath, testBinary); is {
			for _, dep := range p.Deps {
				dep, _, _ = strings.Cut(dep, " ")
				compiled[name] = compiled[name] || changed[dep] || removed(dep)
			}
		}
	}
	var names []string
	for _, p := range packages {
		if removed(p.ImportPath) || len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 || strings.Contains(p.ImportPath, " ") ||
			strings.HasSuffix(p.ImportPath, testBinary) {
			continue
		}
		reads, err := p.readsOutside()
		if err != nil {
			return nil, err
		}
		if compiled[p.ImportPath] || reads {
			names = append(names, p.ImportPath)
		}
	}
	return names, nil
}

// readsOutside reports whether a test of the package names a file of another directory.
func (p pkg) readsOutside() (bool, error) {
	for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil || outside.Match(text) {
			return err == nil, err
		}
	}
	return false, nil
}
