package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"github.com/gin-gonic/gin"
)

// HTML is a page for browsers that loads nothing else: it contains its style and its script, and its policy makes the
// browser refuse any others, also if something is injected into the page.
type HTML struct {
	template *template.Template
	policy   string
}

// NewHTML makes a page of a template. In it {{style}} and {{script}} stand for the whole content of their elements.
// Either may be empty.
func NewHTML(text, style, script string, funcs template.FuncMap) (*HTML, error) {
	own := template.FuncMap{
		"style":  func() template.CSS { return template.CSS(style) }, //nolint:gosec // It is part of the program.
		"script": func() template.JS { return template.JS(script) },  //nolint:gosec // It is part of the program.
	}
	t, err := template.New("page").Funcs(own).Funcs(funcs).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the template of a page: %w", err)
	}
	policy := []string{"default-src 'none'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'",
		"style-src " + sourceOf(style)}
	if script != "" {
		policy = append(policy, "script-src "+sourceOf(script), "connect-src 'self'")
	}
	return &HTML{template: t, policy: strings.Join(policy, "; ")}, nil
}

// sourceOf returns the source expression of the one text that a browser may use.
func sourceOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}

// Write renders the page with data, and sends it.
func (h *HTML) Write(c *gin.Context, status int, data any) error {
	var page bytes.Buffer
	if err := h.template.Execute(&page, data); err != nil {
		return fmt.Errorf("write a page: %w", err)
	}
	c.Header("Content-Security-Policy", h.policy)
	c.Header("Referrer-Policy", "no-referrer")
	c.Data(status, "text/html; charset=utf-8", page.Bytes())
	return nil
}
