package media

import "net/url"

// PostReader is a Platform whose lists and reports are read by POST.
type PostReader interface {
	// Reads reports whether a POST to an endpoint changes nothing at the platform. Such a POST is sent again when no
	// answer comes, as a GET is, and is allowed for a live account.
	Reads(endpoint string) bool
}

// AppSigner is a Platform with calls that carry the app's secret. All other calls never get the secret.
type AppSigner interface {
	// AppSigned reports whether the calls of an endpoint carry it.
	AppSigned(endpoint string) bool
	// SignApp adds the app, and the login's token where the platform requires it there, to such a call. A POST gets them
	// in its JSON body, which SignApp returns. A GET has no body and gets them in its query, which SignApp changes.
	SignApp(query url.Values, body []byte, app App, accessToken string) ([]byte, error)
}
