package verify

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"adsync/base/day"
)

// truthRow is one row of the simulator's truth: money in millionths of the currency, whatever the wire format.
type truthRow struct {
	Account string           `json:"account"`
	Day     string           `json:"day"`
	Hour    int              `json:"hour"`
	Object  string           `json:"object"`
	Metrics map[string]int64 `json:"metrics"`

	// Configuration objects and accounts.
	Name        string `json:"name"`
	Company     string `json:"company"`
	Parent      string `json:"parent"`
	Status      string `json:"status"`
	DailyBudget int64  `json:"daily_budget"`
	Bid         int64  `json:"bid"`
	Created     int64  `json:"created"`
	Modified    int64  `json:"modified"`
	Deleted     bool   `json:"deleted"`
	Unlisted    bool   `json:"unlisted"` // deleted, and shown by no list of the platform any more
	Kind        string `json:"kind"`     // of a creative: video or image

	// What a creative shows, and what an image or a video is.
	Assets    []truthUse `json:"assets"`
	Width     int64      `json:"width"`
	Height    int64      `json:"height"`
	Size      int64      `json:"size"`
	Signature string     `json:"signature"`
	Material  string     `json:"material"`

	// An account's currency and time zone.
	Currency string `json:"currency"`
	Timezone string `json:"timezone"`

	// The accounts' money.
	Fund         string `json:"fund"`
	Balance      int64  `json:"balance"`
	ValidBalance int64  `json:"valid_balance"`
	PaidToday    int64  `json:"paid_today"`
	Deposit      int64  `json:"deposit"`
	Paid         int64  `json:"paid"`
	TransferIn   int64  `json:"transfer_in"`
	TransferOut  int64  `json:"transfer_out"`

	Count *int64 `json:"count"` // the last line only
}

// truthUse is an image or a video that a creative shows.
type truthUse struct {
	Kind      string `json:"kind"`
	ID        string `json:"id"`
	Signature string `json:"signature"`
}

// truthQuery selects the truth; empty fields do not restrict.
type truthQuery struct {
	media, kind, level, from, to, account, currency, at string
}

// Home is an account's name, currency, time zone and owner.
type Home struct{ Name, Currency, Timezone, Company string }

// Homes returns the homes of a platform's accounts, by the platform's ids.
func Homes(ctx context.Context, client *http.Client, baseURL, media string) (map[string]Home, error) {
	homes := map[string]Home{}
	err := readTruth(ctx, client, baseURL, truthQuery{media: media, kind: "account"}, func(r truthRow) error {
		homes[r.Account] = Home{Name: r.Name, Currency: r.Currency, Timezone: r.Timezone, Company: r.Company}
		return nil
	})
	return homes, err
}

// Spend returns the spend of the platform's accounts of a currency on a day, in micros.
func Spend(ctx context.Context, client *http.Client, baseURL, media, currency string, on day.Day) (int64, error) {
	total := int64(0)
	err := readTruth(ctx, client, baseURL, truthQuery{media: media, kind: "report_daily", level: "account",
		from: on.String(), to: on.String(), currency: currency}, func(r truthRow) error {
		total += r.Metrics["cost"]
		return nil
	})
	return total, err
}

// Objects returns the campaigns, ad groups and creatives of an account that run now, by level.
func Objects(ctx context.Context, client *http.Client, baseURL, media, account string,
	each func(level, object string)) error {
	for _, o := range worldOf(media).objects {
		if o.level == "" {
			continue
		}
		err := readTruth(ctx, client, baseURL, truthQuery{media: media, kind: o.kind, account: account},
			func(r truthRow) error {
				if r.Status == "active" && !r.Unlisted {
					each(o.level, r.Object)
				}
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// readTruth streams the simulator's truth, whose last line counts the rows. An answer that
// ends without a count, or with another one than the rows that came, is an error.
func readTruth(ctx context.Context, client *http.Client, baseURL string, q truthQuery,
	each func(truthRow) error) error {
	query := url.Values{"media": {q.media}, "kind": {q.kind}}
	for name, value := range map[string]string{"level": q.level, "from": q.from, "to": q.to, "account": q.account,
		"currency": q.currency, "at": q.at} {
		if value != "" {
			query.Set(name, value)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/_sim/truth?"+query.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the simulator for the truth: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the simulator for the truth: %s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 64<<10), 1<<20)
	rows := int64(0)
	for lines.Scan() {
		var row truthRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return fmt.Errorf("read the truth: %w", err)
		}
		if row.Count != nil {
			if *row.Count != rows {
				return fmt.Errorf("read the truth: the simulator counts %d rows, %d came", *row.Count, rows)
			}
			return nil
		}
		rows++
		if q.kind == reportName(true) {
			for _, metric := range worldOf(q.media).daysOnly {
				delete(row.Metrics, metric)
			}
		}
		if err := each(row); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the truth: %w", err)
	}
	return fmt.Errorf("read the truth: the answer ends after %d rows without a count", rows)
}
