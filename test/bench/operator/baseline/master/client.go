// Package master is a small client of the master's REST API.
package master

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// schemaTTL is how long the defaults of an automation type are reused.
	schemaTTL      = 10 * time.Minute
	requestTimeout = 10 * time.Second
	maxBodyBytes   = 32 << 20
	maxDetailBytes = 512
)

// Client sends requests to one master.
type Client struct {
	base, token, actor string
	http               *http.Client

	mu      sync.Mutex
	schemas map[string]cachedDefaults
}

type cachedDefaults struct {
	defaults map[string]any
	read     time.Time
}

// New returns a client with its own connection pool.
func New(base, token, actor string, connections int) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxConnsPerHost = connections, connections
	return &Client{
		base:    strings.TrimRight(base, "/") + "/api/v1",
		token:   token,
		actor:   actor,
		http:    &http.Client{Transport: transport, Timeout: requestTimeout},
		schemas: map[string]cachedDefaults{},
	}
}

// Worker is the part of a worker record that the operator uses.
type Worker struct {
	Config           map[string]any `json:"config"`
	ConfigGen        int64          `json:"config_gen"`
	AppliedConfigGen *int64         `json:"applied_config_gen"`
	State            string         `json:"state"`
	Connected        bool           `json:"connected"`
	CurrentStats     *struct {
		Slots int32 `json:"slots"`
	} `json:"current_stats"`
	Epoch string `json:"-"`
}

// Error is a response other than 2xx.
type Error struct {
	Status int
	Detail string
}

func (e *Error) Error() string { return fmt.Sprintf("the master responded %d: %s", e.Status, e.Detail) }

// IsStatus reports whether err is a response with this status.
func IsStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

func (c *Client) do(
	ctx context.Context, method, path string, header map[string]string, body []byte, into any,
) (http.Header, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, reader)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Muster-Actor", c.actor)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxBodyBytes))
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		return nil, &Error{Status: response.StatusCode, Detail: string(raw[:min(len(raw), maxDetailBytes)])}
	}
	return response.Header, json.Unmarshal(raw, into)
}

func workerPath(kind, id string) string {
	return "/automations/" + url.PathEscape(kind) + "/workers/" + url.PathEscape(id)
}

// Worker reads one worker.
func (c *Client) Worker(ctx context.Context, kind, id string) (*Worker, error) {
	worker := &Worker{}
	header, err := c.do(ctx, http.MethodGet, workerPath(kind, id), nil, nil, worker)
	if err != nil {
		return nil, err
	}
	worker.Epoch = header.Get("Muster-Epoch")
	return worker, nil
}

// PatchConfig sends the changed top-level fields, if the config is still the one that was read, and returns the new
// generation.
func (c *Client) PatchConfig(
	ctx context.Context, kind, id string, read *Worker, changes map[string]any,
) (int64, error) {
	body, err := json.Marshal(changes)
	if err != nil {
		return 0, err
	}
	condition := map[string]string{"If-Match": fmt.Sprintf(`"%s.%d"`, read.Epoch, read.ConfigGen)}
	var response struct {
		ConfigGen int64 `json:"config_gen"`
	}
	_, err = c.do(ctx, http.MethodPatch, workerPath(kind, id)+"/config", condition, body, &response)
	return response.ConfigGen, err
}

// Defaults returns the default of every top-level field of a type's config schema.
func (c *Client) Defaults(ctx context.Context, kind string) (map[string]any, error) {
	c.mu.Lock()
	cached, ok := c.schemas[kind]
	c.mu.Unlock()
	if ok && time.Since(cached.read) < schemaTTL {
		return cached.defaults, nil
	}
	var entry struct {
		Config struct {
			Properties map[string]struct {
				Default any `json:"default"`
			} `json:"properties"`
		} `json:"config"`
	}
	if _, err := c.do(ctx, http.MethodGet, "/catalog/"+url.PathEscape(kind), nil, nil, &entry); err != nil {
		return nil, err
	}
	defaults := map[string]any{}
	for name, property := range entry.Config.Properties {
		if property.Default != nil {
			defaults[name] = property.Default
		}
	}
	c.mu.Lock()
	c.schemas[kind] = cachedDefaults{defaults, time.Now()}
	c.mu.Unlock()
	return defaults, nil
}
