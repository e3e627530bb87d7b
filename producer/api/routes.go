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

// described returns the operations that docs/openapi.yaml describes.
var described = sync.OnceValue(func() []openapi.Operation {
	all, err := openapi.Operations(docs.OpenAPI)
	if err != nil {
		panic(fmt.Sprintf("docs/openapi.yaml: %v", err)) // The file is part of the program.
	}
	return all
})

// handler makes the handler of an operation from its description.
type handler func(op *openapi.Operation) httpapi.HandlerFunc

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// routesOf returns a route for each operation of the description. The handlers are by operationId. It panics if one is
// missing or left over: a mistake in the program, which any test finds.
func routesOf(handlers map[string]handler) []httpapi.Route {
	operations := described()
	routes := make([]httpapi.Route, len(operations))
	for i := range operations {
		op := &operations[i]
		handlerOf, known := handlers[op.ID]
		if !known {
			panic(fmt.Sprintf("docs/openapi.yaml: the operation %s has no handler in api.Routes", op.ID))
		}
		delete(handlers, op.ID)
		path := pathParameter.ReplaceAllString(op.Path, ":$1")
		routes[i] = httpapi.Route{Method: op.Method, Path: path, Role: httpapi.Role(op.Role),
			Handler: unavailability(handlerOf(op))}
	}
	for id := range handlers {
		panic(fmt.Sprintf("api.Routes: the handler of %s has no operation in docs/openapi.yaml", id))
	}
	return routes
}

// raw makes the handler of an operation that reads its request and writes its answer without the helpers below.
func raw(handle httpapi.HandlerFunc) handler {
	return func(*openapi.Operation) httpapi.HandlerFunc { return handle }
}

// none is the type of the parameters of an operation that takes none.
type none struct{}

// plain makes the handler of an operation that has neither parameters nor a body.
func plain(answer func(c *gin.Context) (any, error)) handler {
	return withQuery(func(c *gin.Context, _ *none) (any, error) { return answer(c) })
}

// withQuery makes the handler of an operation with query parameters and no body. P has the parameters: it is a type of
// package client, made from the description.
func withQuery[P any](answer func(c *gin.Context, params *P) (any, error)) handler {
	return func(op *openapi.Operation) httpapi.HandlerFunc {
		mustHaveQuery[P](op)
		return func(c *gin.Context) error {
			params := new(P)
			if err := httpapi.ReadQuery(c, op.Query, params); err != nil {
				return err
			}
			return write(c)(answer(c, params))
		}
	}
}

// mustHaveQuery panics unless P has the parameters of an operation.
func mustHaveQuery[P any](op *openapi.Operation) {
	if of := reflect.TypeFor[P](); !httpapi.TakesQuery(of, op.Query) {
		panic(fmt.Sprintf("%s does not have the parameters of %s", of, op.ID))
	}
}

// withBody makes the handler of an operation with a body. T is the body's type of package client, made from the
// description.
func withBody[T any](answer func(c *gin.Context, request *T) (any, error)) handler {
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

// write writes an answer with the status that the handler has set, or 200.
func write(c *gin.Context) func(answer any, err error) error {
	return func(answer any, err error) error {
		if err == nil {
			c.JSON(c.Writer.Status(), answer)
		}
		return err
	}
}
