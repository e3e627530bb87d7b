package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"adsync/engine"
	"adsync/test/rig"
)

func main() {
	rig.Main("trial", parseOptions, func(ctx context.Context, o options) (int, error) { return 0, run(ctx, o) })
}

// options is what the command line asks for.
type options struct {
	platform string
	all      bool
	quick    bool
	tests    []string // the command that runs the tests, without the packages
}

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("trial", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.platform, "media", slices.Min(engine.PlatformNames()), "the platform that is removed")
	flags.BoolVar(&o.all, "all", false, "run the tests of all packages, also of those that the platform does not affect")
	flags.BoolVar(&o.quick, "quick", false, "leave out the tests of packages that take minutes: "+
		strings.Join(slow, ", "))
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.all && o.quick {
		return o, errors.New("-all and -quick exclude each other")
	}
	if flags.NArg() == 0 {
		return o, errors.New("give the command that runs the tests")
	}
	o.tests = flags.Args()
	return o, nil
}

// run fails when the tree does not build or its tests do not pass without the platform, or when the platform's return
// changes any other file.
func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "adsync-trial-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tree, err := copyTree(ctx, dir)
	if err != nil {
		return err
	}
	if err := takeOut(dir, o.platform); err != nil {
		return err
	}
	packages := []string{"./..."}
	if !o.all {
		if packages, err = touched(ctx, ".", o.platform); err != nil {
			return err
		}
	}
	if o.quick {
		packages = slices.DeleteFunc(packages, isSlow)
	}
	steps := [][]string{{"make", "--no-print-directory", "generate"}, {"go", "build", "./..."}, {"go", "vet", "./..."}}
	modules, err := otherModules(dir)
	if err != nil {
		return err
	}
	for _, module := range modules {
		steps = append(steps, []string{"go", "-C", module, "vet", "./..."})
	}
	var failed []error
	for _, step := range append(steps, append(slices.Clone(o.tests), packages...)) {
		fmt.Fprintf(os.Stderr, "trial: without %s: %s\n", o.platform, strings.Join(step, " "))
		if _, err := command(ctx, dir, os.Stderr, step...); err != nil {
			failed = append(failed, fmt.Errorf("without %s: %w", o.platform, err))
		}
	}
	return errors.Join(append(failed, putBack(ctx, dir, o.platform, tree))...)
}

// otherModules returns the directories of the modules of the tree that are built with adsync's own packages.
func otherModules(root string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" || filepath.Dir(file) == root {
			return err
		}
		text, err := os.ReadFile(file)
		if strings.Contains(string(text), "\nreplace adsync =>") {
			dirs = append(dirs, filepath.Dir(file))
		}
		return err
	})
	return dirs, err
}

// copyTree copies the working tree of the current directory, as git would commit all of it, to dir. It makes dir a
// repository and returns the name of its tree.
func copyTree(ctx context.Context, dir string) (string, error) {
	names, err := command(ctx, ".", nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard",
		"--deduplicate")
	if err != nil {
		return "", err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(names, "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // It is removed and not committed yet.
		}
		if err != nil {
			return "", err
		}
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
			return "", err
		}
	}
	if _, err := command(ctx, dir, nil, "git", "init", "-q"); err != nil {
		return "", err
	}
	return treeOf(ctx, dir)
}

// putBack puts the platform's places and the lists back, generates files again, and fails if the tree then differs from
// the original.
func putBack(ctx context.Context, dir, platform, tree string) error {
	code := places(platform)
	for _, l := range lists {
		code = append(code, l.file)
	}
	if _, err := command(ctx, dir, nil, append([]string{"git", "checkout", "-q", tree, "--"}, code...)...); err != nil {
		return err
	}
	if _, err := command(ctx, dir, os.Stderr, "make", "--no-print-directory", "generate"); err != nil {
		return err
	}
	now, err := treeOf(ctx, dir)
	if err != nil || now == tree {
		return err
	}
	changed, err := command(ctx, dir, nil, "git", "diff", "--stat", tree, now)
	return errors.Join(err, fmt.Errorf("the tree with %s put back differs from the original:\n%s", platform, changed))
}

// treeOf returns git's name of all files in the repository dir that it does not ignore.
func treeOf(ctx context.Context, dir string) (string, error) {
	if _, err := command(ctx, dir, nil, "git", "add", "--all"); err != nil {
		return "", err
	}
	name, err := command(ctx, dir, nil, "git", "write-tree")
	return strings.TrimSpace(name), err
}

// command runs a command in dir and returns what it prints. With an output that is not nil it prints there instead.
func command(ctx context.Context, dir string, output io.Writer, args ...string) (string, error) {
	var printed, troubles strings.Builder
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir, c.Stdout, c.Stderr = dir, &printed, &troubles
	if output != nil {
		c.Stdout, c.Stderr = output, output
	}
	// A hook of git points its children at the repository that it runs for.
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w %s", strings.Join(args, " "), err, troubles.String())
	}
	return printed.String(), nil
}
