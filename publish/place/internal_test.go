package place

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/secret"
)

func FuzzCheckName(f *testing.F) {
	for _, seed := range []string{"a/b.csv", ".a.adsync-1.part", "../a", "a//b", "a\\b", " a", "销售.csv", "..0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if CheckName(name) != nil {
			return
		}
		require.Equal(t, name, path.Clean(name))
		require.False(t, path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../"))
		temp := temporary(name, 1<<63-1)
		require.Equal(t, path.Dir(name), path.Dir(temp))
		require.LessOrEqual(t, len(path.Base(temp)), 255)
		base, delivery, ok := parseTemporary(path.Base(temp))
		require.True(t, ok)
		require.Equal(t, path.Base(name), base)
		require.EqualValues(t, 1<<63-1, delivery)
		require.Error(t, CheckName(temp), "the name of a temporary file is refused")
	})
}

func FuzzParseTemporary(f *testing.F) {
	for _, seed := range []string{".a.adsync-1.part", ".a.adsync-01.part", ".a.adsync--1.part", "..adsync-1.part",
		".a.adsync-1.adsync-2.part", ".a.adsync-99999999999999999999.part", "a.adsync-1.part", ".part"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, segment string) {
		if base, delivery, ok := parseTemporary(segment); ok {
			require.Equal(t, segment, temporary(base, delivery))
			require.Positive(t, delivery)
		}
	})
}

func TestPace_LimitsTheReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		content := strings.Repeat("x", 163_840)
		f := File{Name: "a", Size: int64(len(content)), SHA256: sha256.Sum256([]byte(content)),
			Content: strings.NewReader(content)}
		start, s := time.Now(), newSource(t.Context(), f, &pace{perSecond: 16_384})
		n, err := io.Copy(io.Discard, s)
		require.NoError(t, err)
		require.EqualValues(t, len(content), n)
		require.NoError(t, s.check())
		// 100 waits for chunks of a tenth of a second, and 40 bytes that follow the last one.
		require.Equal(t, 100*(1638*time.Second/16_384), time.Since(start))
	})
}

func TestPace_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f := File{Name: "a", Size: 1 << 20, Content: strings.NewReader(strings.Repeat("x", 1<<20))}
		start := time.Now()
		_, err := io.Copy(io.Discard, newSource(ctx, f, &pace{perSecond: 16_384}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
	})
}

func TestWatch_EndsWithoutProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w, stop := watched(t.Context(), 30*time.Second)
		defer stop()
		for range 10 {
			time.Sleep(29 * time.Second)
			w.touch()
		}
		require.NoError(t, ctx.Err())
		time.Sleep(29 * time.Second)
		synctest.Wait()
		require.NoError(t, why(ctx, nil))
		time.Sleep(time.Second)
		synctest.Wait()
		err := why(ctx, net.ErrClosed)
		require.ErrorContains(t, err, "no progress for 30s")
		require.NotErrorIs(t, err, context.Canceled)
		require.False(t, Refused(err))
	})
}

func TestSession_SilentServer(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	c := Config{Address: listener.Addr().String(), User: "u", Password: secret.NewText("p")}
	c.Kind = KindFTP
	ftp := newFTP(c)
	ftp.session.timeout = 20 * time.Millisecond
	c.Kind, c.HostKey = KindSFTP, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE4oSb2xPfLPs1yXcVNiTUPS3hKmEZcXWBmXDTeiTxtY"
	sftp := newSFTP(c)
	sftp.session.timeout = 20 * time.Millisecond
	for _, s := range []store{ftp, sftp} {
		_, err := s.size(t.Context(), "a")
		require.ErrorContains(t, err, "no progress for 20ms")
		_, stalled := errors.AsType[*stalledError](err)
		require.True(t, stalled)
		require.NoError(t, s.close())
	}
}

func TestFTP_RepliesShowNoPassword(t *testing.T) {
	t.Parallel()
	s := newFTP(Config{Kind: KindFTP, Password: secret.NewText("hunter2")})
	for code, refused := range map[int]bool{421: false, 450: false, 452: false, 552: false, 530: true, 550: true} {
		reply := &textproto.Error{Code: code, Msg: "PASS hunter2?"}
		err := s.classify(fmt.Errorf("write: %w", errors.Join(io.EOF, reply)))
		require.EqualError(t, err, fmt.Sprintf("the server replied %d PASS <secret>?", code))
		require.Equal(t, refused, Refused(err), code)
	}
	err := s.connectFailed(&textproto.Error{Code: 530, Msg: "PASS hunter2?"})
	require.NotContains(t, err.Error(), "hunter2")
}

func TestS3Error_Stays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reply s3Error
		stays bool
	}{
		{s3Error{status: 403, code: "AccessDenied"}, true},
		{s3Error{status: 403, code: "RequestTimeTooSkewed"}, false},
		{s3Error{status: 403, code: "QuotaExceeded"}, false},
		{s3Error{status: 404, code: "NoSuchBucket"}, true},
		{s3Error{status: 404, code: "NoSuchUpload"}, false},
		{s3Error{status: 301, code: "PermanentRedirect"}, true},
		{s3Error{status: 503, code: "SlowDown"}, false},
	} {
		require.Equal(t, test.stays, test.reply.stays(), test.reply.code)
	}
}

func TestPartSize_GivesAtMost10000Parts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 5<<40).Draw(t, "size")
		mib := rapid.SampledFrom([]int{0, 5, 16, 1024}).Draw(t, "part_mib")
		part := partSize(size, mib)
		n := partCount(size, part)
		require.LessOrEqual(t, n, int64(s3PartsMax))
		require.GreaterOrEqual(t, part, int64(5<<20))
		require.LessOrEqual(t, part, int64(5<<30))
		require.Zero(t, part%(1<<20))
		require.LessOrEqual(t, (n-1)*part, size)
		require.GreaterOrEqual(t, n*part, size)
		if size <= 10_000*5<<20 && mib == 5 {
			require.EqualValues(t, 5<<20, part)
		}
	})
}
