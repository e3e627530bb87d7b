package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The command "adsync tasks run" is in tasks_run.go, made by newTasksRun. Each file of the folders is the file of one
// command, except the entry points and what a package's commands share.
func TestEachCommandIsInTheFileOfItsName(t *testing.T) {
	t.Parallel()
	commands := map[string]bool{"root": true}
	var files []string
	shared := []string{"main.go", "operate.go", "jobqueue.go"}
	for _, pattern := range []string{"../../cmd/adsync/*.go", "../../cmd/adsync/operate/*.go",
		"../../cmd/adsync/jobqueue/*.go"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range found {
			if name := filepath.Base(file); !strings.HasSuffix(name, "_test.go") && !slices.Contains(shared, name) {
				files = append(files, file)
				commands[strings.TrimSuffix(name, ".go")] = true
			}
		}
	}
	require.Greater(t, len(files), 60)
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(path), ".go")
		uses, made := usesOf(file)
		require.Len(t, uses, 1, "%s: want the one command that its name says", path)
		word := strings.ReplaceAll(uses[0], "-", "_")
		group, inGroup := strings.CutSuffix(name, "_"+word)
		switch {
		case name == "root":
			require.Equal(t, "adsync", word, path)
		case inGroup:
			require.True(t, commands[group], "%s: there is no command %q", path, group)
		default:
			require.Equal(t, name, word, "%s: its command is %q", path, uses[0])
		}
		require.Contains(t, made, "new"+strings.ReplaceAll(name, "_", ""),
			"%s: the function that makes the command is named for it", path)
	}
}

// usesOf returns the words of the commands that a file makes, and the names, in lower case, of the functions that make
// one.
func usesOf(file *ast.File) (uses, made []string) {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "new") {
			made = append(made, "new"+strings.ToLower(strings.TrimPrefix(f.Name.Name, "new")))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if kind, ok := literal.Type.(*ast.SelectorExpr); !ok || kind.Sel.Name != "Command" {
			return true
		}
		for _, element := range literal.Elts {
			field, ok := element.(*ast.KeyValueExpr)
			if name, isName := field.Key.(*ast.Ident); !ok || !isName || name.Name != "Use" {
				continue
			}
			switch use := field.Value.(type) {
			case *ast.BasicLit:
				text, _ := strconv.Unquote(use.Value) // It is a string.
				uses = append(uses, strings.Fields(text)[0])
			case *ast.Ident: // A command for each platform: Use: media.
				uses = append(uses, use.Name)
			}
		}
		return true
	})
	return uses, made
}
