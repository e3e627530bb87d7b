package publishing

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

const bucket = "reports"

// s3Server is an S3 server in memory, with faults.
type s3Server struct {
	backend *s3mem.Backend
	inner   http.Handler
	faults  *faults
}

// serveS3 starts an S3 server and returns its address.
func serveS3(ctx context.Context, f *faults) (address string, files func() (map[string][]byte, error), stop func(),
	err error) {
	s := &s3Server{backend: s3mem.New(), faults: f}
	if err := s.backend.CreateBucket(bucket); err != nil {
		return "", nil, nil, err
	}
	s.inner = gofakes3.New(s.backend, gofakes3.WithTimeSkewLimit(0)).Server()
	listener, err := listen(ctx)
	if err != nil {
		return "", nil, nil, err
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().String(), s.files, func() { _ = server.Close() }, nil
}

// files returns the objects and the unfinished uploads.
func (s *s3Server) files() (map[string][]byte, error) {
	all := map[string][]byte{}
	objects, err := s.backend.ListBucket(bucket, nil, gofakes3.ListBucketPage{})
	if err != nil {
		return nil, err
	}
	for _, o := range objects.Contents {
		object, err := s.backend.GetObject(bucket, o.Key, nil)
		if gofakes3.HasErrorCode(err, gofakes3.ErrNoSuchKey) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if all[o.Key], err = io.ReadAll(object.Contents); err != nil {
			return nil, err
		}
	}
	var uploads struct{ Upload []struct{ Key string } }
	answer := httptest.NewRecorder()
	s.inner.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/"+bucket+"?uploads", http.NoBody))
	if answer.Code == http.StatusOK {
		if err := xml.Unmarshal(answer.Body.Bytes(), &uploads); err != nil {
			return nil, err
		}
	}
	for _, u := range uploads.Upload {
		all["upload "+u.Key] = nil
	}
	return all, nil
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>the server is broken</Message></Error>", code)
}

// ServeHTTP implements http.Handler.
func (s *s3Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	onUpload := r.URL.Query().Has("uploadId")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead && s.faults.mayChange() != nil:
		refuse(w, http.StatusForbidden, "AccessDenied")
	case onUpload && r.Method == http.MethodPut:
		s.part(w, r)
	case onUpload && r.Method == http.MethodPost:
		answer := httptest.NewRecorder()
		s.inner.ServeHTTP(answer, r)
		if answer.Code == http.StatusOK && s.faults.once(&s.faults.cutRename) {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	default:
		s.inner.ServeHTTP(w, r)
	}
}

// part receives a part of an upload.
func (s *s3Server) part(w http.ResponseWriter, r *http.Request) {
	if s.faults.strike(&s.faults.full) {
		refuse(w, http.StatusInsufficientStorage, "XMinioStorageFull")
		return
	}
	if r.ContentLength > cutAfter && s.faults.once(&s.faults.cutUpload) {
		_, _ = io.CopyN(io.Discard, r.Body, cutAfter)
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	body = s.faults.spoil(body)
	// The sum is that of what was sent.
	r.Header.Del("Content-MD5")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	s.inner.ServeHTTP(w, r)
}
