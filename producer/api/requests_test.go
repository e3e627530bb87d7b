package api

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"adsync/docs"
)

// What the body of a request may have is told by the type that it is read into.
func TestOpenAPI_HasEveryFieldOfARequest(t *testing.T) {
	t.Parallel()
	var described struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(docs.OpenAPI, &described))
	for name, request := range map[string]any{
		"OrderRequest": orderRequest{}, "DeadRequest": deadRequest{}, "RedriveRequest": redriveRequest{}, "Signature": signature{}, "CancelRequest": cancelRequest{},
		"PauseRequest": pauseRequest{}, "FillRequest": fillRequest{}, "EndPauseRequest": endPauseRequest{}, "FieldRequest": fieldRequest{},
		"NewTaskRequest": newTaskRequest{}, "EditTaskRequest": editTaskRequest{}, "RerunRequest": rerunRequest{}, "LogLevelRequest": logLevelRequest{},
	} {
		require.ElementsMatch(t, fieldsOf(reflect.TypeOf(request)), slices.Collect(maps.Keys(described.Components.Schemas[name].Properties)),
			"components/schemas/%s of docs/openapi.yaml against %T: what is missing is to be added to properties there", name, request)
	}
}

// fieldsOf are the names of a struct's fields in JSON.
func fieldsOf(s reflect.Type) (names []string) {
	for f := range s.Fields() {
		if f.Anonymous {
			names = append(names, fieldsOf(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
