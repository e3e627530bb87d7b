package token

import (
	"context"
	"errors"
	"fmt"

	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/publishing"
)

// SealedBy counts the sealed texts of the tables by the name of their key.
func SealedBy(ctx context.Context, s *store.Store) (map[string]int, error) {
	apps, err := s.Apps(ctx)
	if err != nil {
		return nil, err
	}
	tokens, err := s.SealedTokens(ctx)
	if err != nil {
		return nil, err
	}
	destinations, err := s.Destinations(ctx)
	if err != nil {
		return nil, err
	}
	subscriptions, err := s.AllSubscriptions(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, d := range destinations {
		if d.Credentials != "" {
			counts[secret.KeyOf(d.Credentials)]++
		}
	}
	for i := range subscriptions {
		if sealed := subscriptions[i].WebhookSecret; sealed != "" {
			counts[secret.KeyOf(sealed)]++
		}
	}
	for _, a := range apps {
		counts[secret.KeyOf(a.Secret)]++
	}
	for _, t := range tokens {
		for _, sealed := range []string{t.Access, t.Refresh} {
			if sealed != "" { // A login may have no refresh token.
				counts[secret.KeyOf(sealed)]++
			}
		}
	}
	return counts, nil
}

// Reseal seals all texts of the tables that are not sealed with the first key of the box, and returns their number.
// It may run at any time and repeatedly: it leaves a pair that is refreshed meanwhile, which is already sealed with
// the first key. A text that no key opens stays as it is and is part of the error; the other texts are resealed.
func Reseal(ctx context.Context, s *store.Store, box *secret.Box) (resealed int, err error) {
	apps, err := s.Apps(ctx)
	if err != nil {
		return 0, err
	}
	tokens, err := s.SealedTokens(ctx)
	if err != nil {
		return 0, err
	}
	destinations, err := s.Destinations(ctx)
	if err != nil {
		return 0, err
	}
	subscriptions, err := s.AllSubscriptions(ctx)
	if err != nil {
		return 0, err
	}
	r := resealing{box: box, first: box.IDs()[0]}
	var errs []error
	note := func(did bool, err error) {
		if did {
			resealed += r.changed
		}
		errs = append(errs, err)
		r.changed = 0
	}
	for _, a := range apps {
		sealed, err := r.text(a.Secret, appPlace(a.Media, a.ID))
		switch {
		case err != nil:
			note(false, fmt.Errorf("the secret of app %s of %s: %w", a.ID, a.Media, err))
		case r.changed > 0:
			note(s.ResealApp(ctx, a, sealed))
		}
	}
	for _, t := range tokens {
		access, err1 := r.text(t.Access, accessPlace(t.ID))
		refresh, err2 := r.text(t.Refresh, refreshPlace(t.ID))
		switch err := errors.Join(err1, err2); {
		case err != nil:
			note(false, fmt.Errorf("the tokens of login %d: %w", t.ID, err))
		case r.changed > 0:
			note(s.ResealTokens(ctx, t, access, refresh))
		}
	}
	for i := range destinations {
		d := destinations[i]
		sealed, err := r.text(d.Credentials, publishing.CredentialsPlace(d.Name))
		switch {
		case err != nil:
			note(false, fmt.Errorf("the credentials of the destination %s: %w", d.Name, err))
		case r.changed > 0:
			note(s.ResealDestination(ctx, d, sealed))
		}
	}
	for i := range subscriptions {
		row := subscriptions[i]
		sealed, err := r.text(row.WebhookSecret, publishing.WebhookPlace(row.Name))
		switch {
		case err != nil:
			note(false, fmt.Errorf("the secret of the webhook of %s: %w", row.Name, err))
		case r.changed > 0:
			note(s.ResealWebhook(ctx, row, sealed))
		}
	}
	return resealed, errors.Join(errs...)
}

// resealing counts the resealed texts.
type resealing struct {
	box     *secret.Box
	first   string
	changed int // in the current row
}

// text returns the text sealed with the first key, or unchanged if it is already. It returns an error for a text that
// does not open.
func (r *resealing) text(sealed, place string) (string, error) {
	if sealed == "" {
		return sealed, nil
	}
	plain, err := r.box.Open(sealed, place)
	if err != nil || secret.KeyOf(sealed) == r.first {
		return sealed, err
	}
	r.changed++
	return r.box.Seal(plain, place)
}
