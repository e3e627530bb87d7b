package api

import (
	"fmt"
	"reflect"
	"regexp"
	"sync"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/openapi"
	"adsync/docs"
)

// described returns the operations of docs/openapi.yaml.
var described = sync.OnceValue(func() []openapi.Operation {
	all, err := openapi.Operations(docs.OpenAPI)
	if err != nil {
		panic(fmt.Sprintf("docs/openapi.yaml: %v", err)) // It is part of the program.
	}
	return all
})

// handler makes the handler of an operation from its description.
type handler func(op *openapi.Operation) httpapi.HandlerFunc

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// routesOf returns a route for each operation of the description. Their handlers are by operationId. It panics where
// one is missing, or is left over: a mistake of the program that the first test shows.
func routesOf(handlers map[string]handler) []httpapi.Route {
	operations := described()
	routes := make([]httpapi.Route, len(operations))
	for i := range operations {
		op := &operations[i]
		makeIt, known := handlers[op.ID]
		if !known {
			panic(fmt.Sprintf("docs/openapi.yaml describes the operation %s, which has no handler in api.Routes", op.ID))
		}
		delete(handlers, op.ID)
		path := pathParameter.ReplaceAllString(op.Path, ":$1")
		routes[i] = httpapi.Route{Method: op.Method, Path: path, Role: httpapi.Role(op.Role), Handler: blaming(makeIt(op))}
	}
	for id := range handlers {
		panic(fmt.Sprintf("api.Routes has a handler of %s, which is no operationId of docs/openapi.yaml", id))
	}
	return routes
}

// raw is the handler of an operation that reads its own request.
func raw(handle httpapi.HandlerFunc) handler {
	return func(*openapi.Operation) httpapi.HandlerFunc { return handle }
}

// none are the parameters of an operation that takes none.
type none struct{}

// plain answers requests that have neither parameters nor a body.
func plain(answer func(c *gin.Context) (any, error)) handler {
	return asked(func(c *gin.Context, _ *none) (any, error) { return answer(c) })
}

// asked answers requests without a body. P has their parameters: a type of package client, made from the description.
func asked[P any](answer func(c *gin.Context, params *P) (any, error)) handler {
	return func(op *openapi.Operation) httpapi.HandlerFunc {
		mustTake[P](op)
		return func(c *gin.Context) error {
			params := new(P)
			if err := httpapi.ReadQuery(c, op.Query, params); err != nil {
				return err
			}
			return write(c)(answer(c, params))
		}
	}
}

// mustTake panics unless P has the parameters of an operation.
func mustTake[P any](op *openapi.Operation) {
	if of := reflect.TypeFor[P](); !httpapi.TakesQuery(of, op.Query) {
		panic(fmt.Sprintf("%s does not have the parameters of %s", of, op.ID))
	}
}

// sent answers requests with a body. T is its type of package client, made from the description.
func sent[T any](answer func(c *gin.Context, request *T) (any, error)) handler {
	return func(op *openapi.Operation) httpapi.HandlerFunc {
		return func(c *gin.Context) error {
			request := new(T)
			if err := httpapi.Bind(c, op.Body, request); err != nil {
				return err
			}
			return write(c)(answer(c, request))
		}
	}
}

// write writes an answer, with the status that the context has.
func write(c *gin.Context) func(answer any, err error) error {
	return func(answer any, err error) error {
		if err == nil {
			c.JSON(c.Writer.Status(), answer)
		}
		return err
	}
}
