package place_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish/place"
)

func TestPlace_FileIsVisibleOnlyAfterReveal(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		for name, content := range map[string]string{
			"sales.csv":                "a,b\n1,2\n",
			"large.csv":                large(3<<20 + 17),
			"2026/11/29/.hidden":       "x",
			"销售/with spaces, v1.2.csv": "y",
			"empty.csv":                "",
		} {
			f := file(name, 17, content)
			var kept string
			token, err := p.Upload(t.Context(), f, func(token string) error {
				require.Empty(t, slices.DeleteFunc(r.files(), func(s string) bool { return s == "upload "+name }),
					"keep is called before the first byte")
				kept = token
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, kept, token)
			_, visible := r.read(name)
			require.False(t, visible)
			same, exists, err := p.Visible(t.Context(), f)
			require.NoError(t, err)
			require.False(t, same || exists)

			require.NoError(t, p.Verify(t.Context(), f, token, false))
			require.NoError(t, p.Verify(t.Context(), f, token, true))
			require.NoError(t, p.Discard(t.Context(), name, 17))
			for range 2 {
				require.NoError(t, p.Reveal(t.Context(), f, token, false), "Reveal can be repeated")
				r.requireFile(t, name, content)
				require.Equal(t, []string{name}, r.files())
			}
			same, exists, err = p.Visible(t.Context(), f)
			require.NoError(t, err)
			require.True(t, same && exists)
			for range 2 {
				require.NoError(t, p.Delete(t.Context(), name), "Delete can be repeated")
				require.Empty(t, r.files())
			}
		}
	})
}

func TestPlace_AnotherProcessContinues(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		f := file("a/sales.csv", 3, large(100_000))
		token := upload(t, r.open(t), f)
		require.NoError(t, r.open(t).Verify(t.Context(), f, token, true))
		require.NoError(t, r.open(t).Reveal(t.Context(), f, token, false))
		require.NoError(t, r.open(t).Reveal(t.Context(), f, token, true))
		r.requireFile(t, f.Name, large(100_000))
	})
}

func TestUpload_WritesNothingIfTheTokenIsNotKept(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		wrong := errors.New("no database")
		_, err := r.open(t).Upload(t.Context(), file("sales.csv", 1, "x"), func(string) error { return wrong })
		require.ErrorIs(t, err, wrong)
		require.Empty(t, r.files())
	})
}

func TestUpload_BeginsFromTheStart(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		upload(t, p, file("sales.csv", 1, large(200_000)))
		f := file("sales.csv", 1, "short")
		token := upload(t, p, f)
		require.Len(t, r.files(), 1)
		require.NoError(t, p.Verify(t.Context(), f, token, true))
		require.NoError(t, p.Reveal(t.Context(), f, token, false))
		r.requireFile(t, "sales.csv", "short")
		require.Len(t, r.files(), 1)
	})
}

func TestUpload_RefusesContentThatIsNotAsDescribed(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		f := file("sales.csv", 1, "12345")
		f.Size = 7
		_, err := p.Upload(t.Context(), f, noKeep)
		require.ErrorContains(t, err, "at byte 5 of 7")
		f = file("sales.csv", 1, "12345")
		f.SHA256[0]++
		_, err = p.Upload(t.Context(), f, noKeep)
		require.ErrorContains(t, err, "SHA-256")
		_, visible := r.read("sales.csv")
		require.False(t, visible)
	})
}

func TestReveal_OfAnEarlierDeliveryFails(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		paused, p := r.open(t), r.open(t)
		one, two := file("sales.csv", 1, "one"), file("sales.csv", 2, "two")
		token1 := upload(t, paused, one)
		require.NoError(t, paused.Verify(t.Context(), one, token1, true))

		token2 := upload(t, p, two)
		require.NoError(t, p.Verify(t.Context(), two, token2, true))
		require.NoError(t, p.Discard(t.Context(), "sales.csv", 2))
		require.NoError(t, p.Reveal(t.Context(), two, token2, true))

		for _, replace := range []bool{true, false} {
			require.ErrorIs(t, paused.Reveal(t.Context(), one, token1, replace), place.ErrNotWhole)
			r.requireFile(t, "sales.csv", "two")
		}
		require.ErrorIs(t, paused.Verify(t.Context(), one, token1, false), place.ErrNotWhole)
		require.Equal(t, []string{"sales.csv"}, r.files())
	})
}

func TestReveal_ReplacesOnlyIfAsked(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		for _, old := range []string{"older and longer", "of 5!"} {
			r.write("sales.csv", old)
			f := file("sales.csv", 2, "newer")
			same, exists, err := p.Visible(t.Context(), f)
			require.NoError(t, err)
			require.True(t, exists)
			require.False(t, same)
			token := upload(t, p, f)

			err = p.Reveal(t.Context(), f, token, false)
			require.ErrorIs(t, err, place.ErrExists)
			require.True(t, place.Refused(err))
			r.requireFile(t, "sales.csv", old)

			require.NoError(t, p.Reveal(t.Context(), f, token, true))
			r.requireFile(t, "sales.csv", "newer")
			require.Equal(t, []string{"sales.csv"}, r.files())
		}
	})
}

func TestReveal_AnEqualFileCountsAsRevealed(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		f := file("sales.csv", 2, "equal")
		token := upload(t, p, f)
		r.write("sales.csv", "equal")
		require.NoError(t, p.Reveal(t.Context(), f, token, false))
		require.Equal(t, []string{"sales.csv"}, r.files(), "the temporary file is gone")
	})
}

func TestDiscard_SparesOneDeliveryAndOtherNames(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		require.NoError(t, p.Discard(t.Context(), "no/such/directory/sales.csv", 0))
		tokens := map[int64]string{}
		for _, delivery := range []int64{1, 2, 3, 21} {
			tokens[delivery] = upload(t, p, file("a/sales.csv", delivery, "x"))
		}
		for _, other := range []string{"a/sales.csv.gz", "a/a.sales.csv", "a/sales", "sales.csv", "b/sales.csv"} {
			upload(t, p, file(other, 1, "x"))
			r.write(other, "visible")
		}
		require.Len(t, r.files(), 14)
		require.NoError(t, p.Discard(t.Context(), "a/sales.csv", 2))
		require.Len(t, r.files(), 11)
		f := file("a/sales.csv", 2, "x")
		require.NoError(t, p.Verify(t.Context(), f, tokens[2], true))
		require.ErrorIs(t, p.Verify(t.Context(), file("a/sales.csv", 21, "x"), tokens[21], true), place.ErrNotWhole)
		require.NoError(t, p.Discard(t.Context(), "a/sales.csv", 0))
		require.Len(t, r.files(), 10)
	})
}

func TestSweep_DeletesTheLeftoversOfClosedDeliveries(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		n, err := p.Sweep(t.Context(), func(string, int64) bool { return false })
		require.NoError(t, err)
		require.Zero(t, n)
		r.write("a/visible.csv", "x")
		r.write("a/.other.part", "x")
		upload(t, p, file("sales.csv", 1, "x"))
		upload(t, p, file("a/b/c/sales.csv", 2, "x"))
		upload(t, p, file("a/b/c/sales.csv", 3, "x"))
		require.Len(t, r.files(), 5)
		n, err = p.Sweep(t.Context(), func(name string, delivery int64) bool {
			return name == "a/b/c/sales.csv" && delivery == 3
		})
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Len(t, r.files(), 3)
		n, err = p.Sweep(t.Context(), func(string, int64) bool { return false })
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, []string{"a/.other.part", "a/visible.csv"}, r.files())
		upload(t, p, file("adsync-probe-x", 1, "x"))
		n, err = p.Sweep(t.Context(), func(string, int64) bool { return false })
		require.NoError(t, err)
		require.Zero(t, n, "the probe may be running")
		require.Len(t, r.files(), 3)
	})
}

func TestProbe_LeavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		require.NoError(t, r.open(t).Probe(t.Context()))
		require.Empty(t, r.files())
	})
}

func TestVerify_FindsDamage(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		if r.damage == nil {
			t.Skip("nobody can write to an upload that is not complete")
		}
		p := r.open(t)
		f := file("sales.csv", 1, "12345")
		token := upload(t, p, f)
		r.damage(".sales.csv.adsync-1.part", "1234x")
		require.NoError(t, p.Verify(t.Context(), f, token, false), "the size is right")
		require.ErrorIs(t, p.Verify(t.Context(), f, token, true), place.ErrNotWhole)
		for _, content := range []string{"1234", "123456", ""} {
			r.damage(".sales.csv.adsync-1.part", content)
			err := p.Verify(t.Context(), f, token, false)
			require.ErrorIs(t, err, place.ErrNotWhole)
			require.False(t, place.Refused(err))
			require.ErrorIs(t, p.Reveal(t.Context(), f, token, true), place.ErrNotWhole)
		}
		_, visible := r.read("sales.csv")
		require.False(t, visible)
	})
}

func TestPlace_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		f := file("sales.csv", 1, large(1<<20))
		ctx, cancel := context.WithCancel(t.Context())
		f.Content = &cancelling{ReaderAt: f.Content, at: 100_000, cancel: cancel}
		_, err := p.Upload(ctx, f, noKeep)
		require.ErrorIs(t, err, context.Canceled)

		_, _, err = p.Visible(ctx, f)
		require.ErrorIs(t, err, context.Canceled)
		f = file("sales.csv", 2, "x") // A server may still be busy with the first upload.
		token := upload(t, p, f)
		require.ErrorIs(t, p.Verify(ctx, f, token, true), context.Canceled)
		require.ErrorIs(t, p.Reveal(ctx, f, token, true), context.Canceled)
		require.ErrorIs(t, p.Discard(ctx, f.Name, 0), context.Canceled)
		require.ErrorIs(t, p.Delete(ctx, f.Name), context.Canceled)
		require.ErrorIs(t, p.Probe(ctx), context.Canceled)
		_, err = p.Sweep(ctx, func(string, int64) bool { return false })
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, p.Reveal(t.Context(), f, token, true), "the destination can still be used")
		r.requireFile(t, "sales.csv", "x")
	})
}

func TestPlace_RefusesWrongFiles(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		for _, f := range []place.File{
			file("../sales.csv", 1, "x"), file("", 1, "x"), file("sales.csv", 0, "x"), file("sales.csv", -1, "x"),
			{Name: "sales.csv", Delivery: 1, Size: -1},
		} {
			_, err := p.Upload(t.Context(), f, noKeep)
			require.True(t, place.Refused(err), f.Name)
			require.True(t, place.Refused(p.Verify(t.Context(), f, "", false)))
			require.True(t, place.Refused(p.Reveal(t.Context(), f, "", false)))
			_, _, err = p.Visible(t.Context(), f)
			require.True(t, place.Refused(err))
		}
		require.True(t, place.Refused(p.Discard(t.Context(), "../sales.csv", 0)))
		require.True(t, place.Refused(p.Delete(t.Context(), strings.Repeat("x", 300))))
		require.Error(t, p.Verify(t.Context(), file("sales.csv", 1, "x"), "other", false), "a token of another upload")
		require.Empty(t, r.files())
	})
}

// cancelling calls cancel when a byte is read.
type cancelling struct {
	ReaderAt interface {
		ReadAt(p []byte, at int64) (int, error)
	}
	at     int64
	cancel func()
}

// ReadAt implements io.ReaderAt.
func (c *cancelling) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > c.at {
		c.cancel()
	}
	return c.ReaderAt.ReadAt(p, at)
}
