package configure

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/client"
	"adsync/producer/login"
)

// Logins shows and authorises logins, and binds the accounts that they reach.
type Logins struct{ login.Actions }

// by are the actions of the caller.
func (l Logins) by(c *gin.Context) login.Actions {
	l.Actor = httpapi.CallerOf(c).Name
	return l.Actions
}

// List answers with the logins.
func (l Logins) List(c *gin.Context, params *client.ListLoginsParams) (any, error) {
	return l.by(c).ListLogins(c.Request.Context(), *params)
}

// Bind binds accounts of the login in the path.
func (l Logins) Bind(c *gin.Context, request *client.BindLoginRequest) (any, error) {
	return l.by(c).BindLogin(c.Request.Context(), c.Param("id"), *request)
}

// Begin requests an authorisation.
func (l Logins) Begin(c *gin.Context, request *client.AuthorisationRequest) (any, error) {
	answer, err := l.by(c).BeginAuthorisation(c.Request.Context(), *request)
	if err == nil {
		c.Header("Location", "/api/v1/authorisations/"+answer.ID)
		c.Status(http.StatusCreated)
	}
	return answer, err
}

// Get answers with the progress of an authorisation.
func (l Logins) Get(c *gin.Context) (any, error) {
	return l.by(c).GetAuthorisation(c.Request.Context(), c.Param("id"))
}

// Complete exchanges the code of an authorisation.
func (l Logins) Complete(c *gin.Context, request *client.CodeRequest) (any, error) {
	return l.by(c).CompleteAuthorisation(c.Request.Context(), c.Param("id"), *request)
}
