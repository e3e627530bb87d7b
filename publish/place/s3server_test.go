package place_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"adsync/publish/place"
)

const (
	bucketName   = "reports"
	bucketPrefix = "daily/reports"
)

// s3Rig is an S3 server in memory. It corrects what gofakes3 does unlike AWS: empty parts, ETags of whole objects, and
// If-None-Match.
type s3Rig struct {
	*rig
	backend *s3mem.Backend
	inner   http.Handler

	kms         atomic.Bool  // the ETags are not MD5 sums
	noCondition atomic.Bool  // answers a condition with status 501
	ignores     atomic.Bool  // ignores a condition
	appears     atomic.Bool  // another program writes the file just before it is completed
	reads       atomic.Int64 // counts objects that were read

	mu      sync.Mutex
	empty   map[string]bool   // uploads with an empty part
	objects map[string]string // ETags of completed objects by path
}

func newS3Rig(t *testing.T, options ...gofakes3.Option) *s3Rig {
	t.Helper()
	s := &s3Rig{backend: s3mem.New(), empty: map[string]bool{}, objects: map[string]string{}}
	s.rig = &rig{t: t, faults: &faults{}, read: s.object, write: s.put, files: s.list}
	require.NoError(t, s.backend.CreateBucket(bucketName))
	s.inner = gofakes3.New(s.backend, append(options, gofakes3.WithTimeSkewLimit(0))...).Server()
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	s.faults.proxy = newProxy(t, server.Listener.Addr().String())
	s.config = place.Config{
		Kind: place.KindS3, Address: "https://" + s.faults.proxy.address() + "/" + bucketName, Prefix: bucketPrefix,
		User: user, Password: newSecret(password), Options: place.Options{PathStyle: true, PartMiB: 5},
		CA: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	}
	return s
}

func (s *s3Rig) object(name string) (string, bool) {
	object, err := s.backend.GetObject(bucketName, bucketPrefix+"/"+name, nil)
	if gofakes3.HasErrorCode(err, gofakes3.ErrNoSuchKey) {
		return "", false
	}
	require.NoError(s.t, err)
	content, err := io.ReadAll(object.Contents)
	require.NoError(s.t, err)
	return string(content), true
}

func (s *s3Rig) put(name, content string) {
	_, err := s.backend.PutObject(bucketName, bucketPrefix+"/"+name, map[string]string{}, strings.NewReader(content),
		int64(len(content)), nil)
	require.NoError(s.t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, "/"+bucketName+"/"+bucketPrefix+"/"+name)
}

func (s *s3Rig) list() []string {
	names := []string{}
	objects, err := s.backend.ListBucket(bucketName, nil, gofakes3.ListBucketPage{})
	require.NoError(s.t, err)
	for _, o := range objects.Contents {
		names = append(names, strings.TrimPrefix(o.Key, bucketPrefix+"/"))
	}
	var uploads struct{ Upload []struct{ Key string } }
	answer := s.pass(httptest.NewRequest(http.MethodGet, "/"+bucketName+"?uploads", nil))
	if answer.Code == http.StatusOK {
		require.NoError(s.t, xml.Unmarshal(answer.Body.Bytes(), &uploads))
	}
	for _, u := range uploads.Upload {
		names = append(names, "upload "+strings.TrimPrefix(u.Key, bucketPrefix+"/"))
	}
	slices.Sort(names)
	return names
}

// pass passes a request to gofakes3.
func (s *s3Rig) pass(r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	s.inner.ServeHTTP(answer, r)
	return answer
}

func refuseS3(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>because of a test</Message></Error>", code)
}

// ServeHTTP implements http.Handler.
func (s *s3Rig) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, onUpload := r.URL.Query().Get("uploadId"), r.URL.Query().Has("uploadId")
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case r.Method == http.MethodPut && strings.Count(r.URL.Path, "/") < 2:
		s.t.Errorf("a bucket is created: %s", r.URL)
	case !read && s.faults.readOnly.Load():
		refuseS3(w, http.StatusForbidden, "AccessDenied")
	case onUpload && r.Method == http.MethodPut:
		s.uploadPart(w, r, id)
	case onUpload && r.Method == http.MethodPost:
		s.complete(w, r, id)
	case onUpload && r.Method == http.MethodGet && s.isEmpty(id):
		_, _ = fmt.Fprintf(w, `<ListPartsResult><Part><PartNumber>1</PartNumber><Size>0</Size><ETag>"%s"</ETag></Part>`+
			`</ListPartsResult>`, sumOf(nil))
	default:
		if r.URL.Query().Get("x-id") == "GetObject" {
			s.reads.Add(1)
		}
		answer := s.pass(r)
		s.mu.Lock()
		etag := s.objects[r.URL.Path]
		s.mu.Unlock()
		if read && etag != "" && !onUpload {
			answer.Header().Set("ETag", `"`+etag+`"`)
		}
		reply(w, answer)
	}
}

func reply(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func sumOf(b []byte) string {
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

func (s *s3Rig) isEmpty(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.empty[id]
}

func (s *s3Rig) uploadPart(w http.ResponseWriter, r *http.Request, id string) {
	if s.faults.full.Load() {
		refuseS3(w, http.StatusInsufficientStorage, "XMinioStorageFull")
		return
	}
	if r.ContentLength > 100_000 && s.faults.cutsUpload.Swap(false) {
		_, _ = io.CopyN(io.Discard, r.Body, 50_000)
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	given, err := base64.StdEncoding.DecodeString(r.Header.Get("Content-MD5"))
	if err != nil || hex.EncodeToString(given) != sumOf(body) {
		refuseS3(w, http.StatusBadRequest, "BadDigest")
		return
	}
	if s.faults.loses.Load() {
		body = body[:len(body)/2]
		r.Header.Del("Content-MD5")
	}
	if s.kms.Load() {
		w.Header().Set("X-Amz-Server-Side-Encryption", "aws:kms")
	}
	if len(body) == 0 {
		s.mu.Lock()
		s.empty[id] = true
		s.mu.Unlock()
		w.Header().Set("ETag", `"`+sumOf(nil)+`"`)
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	answer := s.pass(r)
	if s.kms.Load() {
		answer.Header().Set("ETag", `"`+sumOf([]byte("secret key"))+`"`)
	}
	reply(w, answer)
}

func (s *s3Rig) complete(w http.ResponseWriter, r *http.Request, id string) {
	key := strings.TrimPrefix(r.URL.Path, "/"+bucketName+"/")
	if s.appears.Swap(false) {
		s.put(strings.TrimPrefix(key, bucketPrefix+"/"), "theirs")
	}
	if r.Header.Get("If-None-Match") == "*" && !s.ignores.Load() {
		if s.noCondition.Load() {
			refuseS3(w, http.StatusNotImplemented, "NotImplemented")
			return
		}
		if _, err := s.backend.HeadObject(bucketName, key); err == nil {
			refuseS3(w, http.StatusPreconditionFailed, "PreconditionFailed")
			return
		}
	}
	answer := httptest.NewRecorder()
	var result struct{ ETag string }
	if s.isEmpty(id) {
		_, err := s.backend.PutObject(bucketName, key, map[string]string{}, strings.NewReader(""), 0, nil)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		s.pass(httptest.NewRequest(http.MethodDelete, r.URL.String(), nil))
		result.ETag = sumOf(mustDecode(sumOf(nil))) + "-1"
		_, _ = fmt.Fprintf(answer, `<CompleteMultipartUploadResult><ETag>"%s"</ETag></CompleteMultipartUploadResult>`,
			result.ETag)
	} else {
		answer = s.pass(r)
		if answer.Code != http.StatusOK || xml.Unmarshal(answer.Body.Bytes(), &result) != nil {
			reply(w, answer)
			return
		}
	}
	s.faults.renames.Add(1)
	s.mu.Lock()
	s.objects[r.URL.Path] = strings.Trim(result.ETag, `"`)
	if s.kms.Load() {
		s.objects[r.URL.Path] = sumOf([]byte("secret key")) + "-1"
	}
	s.mu.Unlock()
	if s.faults.cutsRename.Swap(false) {
		panic(http.ErrAbortHandler)
	}
	reply(w, answer)
}

func mustDecode(text string) []byte {
	out, err := hex.DecodeString(text)
	if err != nil {
		panic(errors.New("no hex"))
	}
	return out
}
