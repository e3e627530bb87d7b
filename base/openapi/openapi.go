// Package openapi reads the description of an API in the form of OpenAPI 3.1, and checks requests by it. It knows as
// much of OpenAPI as a server needs: who may call an operation, which parameters and which body it takes, and what
// their values may be.
package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Operation is what a method does at a path.
type Operation struct {
	ID     string
	Method string // in capitals
	Path   string // with its parameters in braces, such as /api/v1/runs/{id}
	Role   string // the least role that may call it: x-role
	// Query are the parameters of its address after the question mark, in the order of the description.
	Query []Parameter
	// Body is the schema of the JSON that it takes; nil if it takes none.
	Body *Schema
}

// Parameter is a named value in the address of a request.
type Parameter struct {
	Name     string
	Required bool
	Schema   *Schema
}

// The description as it is written.
type (
	document struct {
		Paths      map[string]map[string]operation
		Components struct {
			Parameters map[string]parameter
			Schemas    map[string]*Schema
		}
	}
	operation struct {
		ID          string `yaml:"operationId"`
		Role        string `yaml:"x-role"`
		Parameters  []parameter
		RequestBody struct {
			Content map[string]struct{ Schema *Schema }
		} `yaml:"requestBody"`
	}
	parameter struct {
		Ref       string `yaml:"$ref"`
		In        string
		Parameter `yaml:",inline"`
	}
)

// Operations reads all operations of a description, by path and method. It refuses a description whose requests have
// what Schema cannot check.
func Operations(text []byte) ([]Operation, error) {
	var d document
	if err := yaml.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	var all []Operation
	for path, methods := range d.Paths {
		for method, written := range methods {
			op, err := d.operation(written)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			op.Method, op.Path = strings.ToUpper(method), path
			all = append(all, op)
		}
	}
	slices.SortFunc(all, func(x, y Operation) int {
		return cmp.Or(strings.Compare(x.Path, y.Path), strings.Compare(x.Method, y.Method))
	})
	return all, nil
}

func (d *document) operation(written operation) (Operation, error) {
	op := Operation{ID: written.ID, Role: written.Role}
	for _, p := range written.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
		}
		if p.In != "query" {
			continue
		}
		if err := p.Schema.link(d.Components.Schemas); err != nil {
			return op, fmt.Errorf("parameter %q: %w", p.Name, err)
		}
		op.Query = append(op.Query, p.Parameter)
	}
	op.Body = written.RequestBody.Content["application/json"].Schema
	if op.Body == nil {
		return op, nil
	}
	if err := op.Body.link(d.Components.Schemas); err != nil {
		return op, fmt.Errorf("body: %w", err)
	}
	return op, nil
}
