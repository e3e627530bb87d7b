package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTouched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"near_test.go": `os.ReadFile("testdata/near")`,
		"far_test.go": `os.ReadFile("../docs/far.md")`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	near := []string{"near_test.go"}
	list, err := parse(
		`{"ImportPath": "adsync/media/rose"}
		{"ImportPath": "adsync/media/rose.test", "Deps": ["adsync/media/rose [adsync/media/rose.test]"]}`)
	require.NoError(t, err)
	packages := slices.Concat(list, []pkg{
		{ImportPath: "adsync/media/rose/wire", Dir: dir, TestGoFiles: near},
		{ImportPath: "adsync/media/rosebud", Dir: dir, TestGoFiles: near},
		{ImportPath: "adsync/media/rosebud.test", Deps: []string{"testing", "adsync/media"}},
		{ImportPath: "adsync/base/lone", Dir: dir, TestGoFiles: near},
		{ImportPath: "adsync/base/lone.test", Deps: []string{"testing", "adsync/base/day"}},
		{ImportPath: "adsync/base/reader", Dir: dir, TestGoFiles: near, XTestGoFiles: []string{"far_test.go"}},
		{ImportPath: "adsync/base/reader.test", Deps: []string{"testing"}},
		{ImportPath: "adsync/engine", Dir: dir, TestGoFiles: near},
		{ImportPath: "adsync/engine.test", Deps: []string{"testing", "adsync/engine [adsync/engine.test]"}},
		{ImportPath: "adsync/cmd", Dir: dir, XTestGoFiles: near},
		{ImportPath: "adsync/cmd.test", Deps: []string{"adsync/simulator", "testing"}},
		{ImportPath: "adsync/cmd_test [adsync/cmd.test]", Dir: dir, XTestGoFiles: near, Deps: []string{"adsync/simulator"}},
		{ImportPath: "adsync/quota", Dir: dir, XTestGoFiles: near},
		{ImportPath: "adsync/quota.test", Deps: []string{"adsync/simulator/rose", "testing"}},
		{ImportPath: "adsync/untested", Deps: []string{"adsync/engine"}},
	})
	got, err := touchedOf(packages, "adsync", "rose")
	require.NoError(t, err)
	require.Equal(t, []string{"adsync/base/reader", "adsync/engine", "adsync/cmd", "adsync/quota"}, got)
}

func TestSlow_ArePackagesOfTheTree(t *testing.T) {
	t.Parallel()
	for _, name := range slow {
		require.DirExists(t, filepath.Join("..", "..", name))
		require.True(t, isSlow("adsync/"+name))
	}
	require.False(t, isSlow("adsync/standalone/story"))
}
