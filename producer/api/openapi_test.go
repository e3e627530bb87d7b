package api_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/stretchr/testify/require"

	"adsync/docs"
	"adsync/producer/api"
)

// description is docs/openapi.yaml. All answers in this package's tests are checked against it.
type description struct {
	model     *v3.Document
	validator validator.Validator

	mu   sync.Mutex      // The library makes schemas lazily, and two goroutines that need them may deadlock.
	seen map[string]bool // by operation and status
}

// schema resolves a reference.
func (d *description) schema(p *base.SchemaProxy) *base.Schema {
	d.mu.Lock()
	defer d.mu.Unlock()
	return p.Schema()
}

var described = sync.OnceValues(func() (*description, error) {
	document, err := libopenapi.NewDocument(docs.OpenAPI)
	if err != nil {
		return nil, err
	}
	model, err := document.BuildV3Model()
	if err != nil {
		return nil, err
	}
	// In strict mode a field that is not described is a fault.
	v, errs := validator.NewValidator(document, config.WithFormatAssertions(), config.WithStrictMode(),
		config.WithStrictIgnorePaths("$.body.**params.**", "$.body.**figures.**", "$.body.audit[*].before.**",
			"$.body.audit[*].after.**", "$.body.**options.**", "$.body.**format.**"),
		config.WithStrictIgnoredHeadersExtra("X-Request-Id", "Cache-Control",
			"X-Content-Type-Options"))
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return &description{model: &model.Model, validator: v, seen: map[string]bool{}}, nil
})

// operation is a method at a path of the description.
type operation struct {
	method, path string
	*v3.Operation
	parameters []*v3.Parameter
}

func (o operation) String() string { return o.method + " " + o.path }

// operations returns all operations of the description, in the order of the file.
func (d *description) operations() []operation {
	var all []operation
	for path, item := range d.model.Paths.PathItems.FromOldest() {
		for method, op := range item.GetOperations().FromOldest() {
			all = append(all, operation{method: strings.ToUpper(method), path: path, Operation: op,
				parameters: append(slices.Clone(item.Parameters), op.Parameters...)})
		}
	}
	return all
}

var (
	pathParameter      = regexp.MustCompile(`:(\w+)`)
	describedParameter = regexp.MustCompile(`\{\w+\}`)
)

// describedRoute writes a route in the form of the description.
func describedRoute(method, path string) string {
	return method + " " + pathParameter.ReplaceAllString(path, "{$1}")
}

// routeOf finds the operation of a request's path as the server does; "" if no route matches.
var routeOf = func() func(method, path string) string {
	var mu sync.Mutex
	engine := gin.New()
	engine.UseRawPath = true
	found := ""
	for _, r := range api.Routes(api.Deps{}) {
		engine.Handle(r.Method, r.Path, func(*gin.Context) { found = describedRoute(r.Method, r.Path) })
	}
	return func(method, path string) string {
		mu.Lock()
		defer mu.Unlock()
		found = ""
		engine.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, http.NoBody))
		return found
	}
}()

// checkAnswer says in what an answer is not as it is described. Every request of this package's tests goes through it.
func checkAnswer(method, path string, w *httptest.ResponseRecorder) (fault string) {
	d, err := described()
	if err != nil {
		return "docs/openapi.yaml: " + err.Error()
	}
	route := routeOf(method, path)
	if route == "" {
		return "" // The server answers itself.
	}
	// The check of an answer needs only the operation of its request.
	request := httptest.NewRequest(method, describedParameter.ReplaceAllString(strings.TrimPrefix(route, method+" "), "1"),
		http.NoBody)
	answer := &http.Response{StatusCode: w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())),
		Request: request}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, faults := d.validator.ValidateHttpResponse(request, answer); len(faults) > 0 {
		var text strings.Builder
		for _, f := range faults {
			fmt.Fprintf(&text, "\n%s: %s", f.Message, f.Reason)
			for _, s := range f.SchemaValidationErrors {
				fmt.Fprintf(&text, "\n  at %s: %s", s.KeywordLocation, s.Reason)
			}
		}
		return fmt.Sprintf(
			"%s answered %d with:\n%.4000s\nThis differs from docs/openapi.yaml:%s\nCorrect the document, under paths or under "+
				"components/schemas, or the answer.",
			route, w.Code, w.Body, text.String())
	}
	d.seen[fmt.Sprint(route, " ", w.Code)] = true
	return ""
}

// TestMain fails if the tests have not seen each described answer of success. It does not check that with -run.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if code == 0 && flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.list").Value.String() == "" &&
		flag.Lookup("test.skip").Value.String() == "" {
		if missing := uncalled(); len(missing) > 0 {
			fmt.Fprintf(os.Stderr,
				"docs/openapi.yaml: no test of this package has seen these answers: %s\nAdd a test for each in which the "+
					"request succeeds, by bench.call, get or post.\n",
				strings.Join(missing, "; "))
			code = 1
		}
	}
	os.Exit(code)
}

// uncalled are the answers of success that are described and that no test was given.
func uncalled() (missing []string) {
	d, err := described()
	if err != nil {
		return []string{err.Error()}
	}
	for _, op := range d.operations() {
		for status, response := range op.Responses.Codes.FromOldest() {
			answer := fmt.Sprint(op, " ", status)
			if response.Content.GetOrZero("text/html") != nil {
				// The page of an authorised login needs a platform: other tests get it.
				answer = op.String() + " 404"
			}
			if !d.seen[answer] {
				missing = append(missing, answer)
			}
		}
	}
	return missing
}

func TestOpenAPI_IsValid(t *testing.T) {
	t.Parallel()
	d, err := described()
	require.NoError(t, err)
	_, faults := d.validator.ValidateDocument()
	for _, f := range faults {
		t.Errorf("%s: %s", f.Message, f.Reason)
	}
	for _, op := range d.operations() {
		require.NotEmpty(t, op.Summary, op)
	}
}

// Clients read the next page's start from each answer to a list, also from the last one.
func TestOpenAPI_EachPageHasItsNext(t *testing.T) {
	t.Parallel()
	d, err := described()
	require.NoError(t, err)
	lists := 0
	for name, proxy := range d.model.Components.Schemas.FromOldest() {
		schema := d.schema(proxy)
		if schema.Properties == nil || schema.Properties.GetOrZero("next") == nil {
			continue
		}
		lists++
		require.Contains(t, schema.Required, "next", name)
	}
	require.Greater(t, lists, 10)
}

func TestCallback_AnswersWithAPage(t *testing.T) {
	t.Parallel()
	w := setup(t).call(http.MethodGet, "/oauth/paper/callback?state=x&code=y", "", "")
	require.Equal(t, http.StatusNotFound, w.Code)
	require.Contains(t, w.Body.String(), "There is no media with this name.")
}

func TestOpenAPI_IsServed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, string(docs.OpenAPI), b.get("/api/v1/openapi.yaml"))
}
