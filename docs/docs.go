// Package docs holds what programs read of the documentation.
package docs

import _ "embed"

// OpenAPI is the description of the operators' API, as YAML.
//
//go:embed openapi.yaml
var OpenAPI []byte
