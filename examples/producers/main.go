// Submits one task and prints its result. Usage: go run main.go URL IMAGE
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

type outcome struct {
	Place  string `json:"place"`
	Result *struct {
		Path string `json:"path"`
	} `json:"result"`
}

var client = &http.Client{Timeout: 30 * time.Second}

// call sends body as JSON and decodes the response into response.
func call(url, token string, body, response any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	reply, err := client.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode >= 300 {
		detail, _ := io.ReadAll(reply.Body)
		return fmt.Errorf("%s: %s", reply.Status, detail)
	}
	return json.NewDecoder(reply.Body).Decode(response)
}

func run(master, image string) error {
	token, err := os.ReadFile(".muster/admin-token")
	if err != nil {
		return err
	}
	secret := strings.TrimSpace(string(token))
	tasks := master + "/api/v1/automations/thumbnails/tasks"
	var task struct {
		ID string `json:"task_id"`
	}
	if err := call(tasks, secret, map[string]any{
		"payload":         map[string]any{"image": image, "width": 320},
		"idempotency_key": "thumbnail-" + image + "-320",
		"retain_seconds":  300,
	}, &task); err != nil {
		return err
	}
	for {
		var ended struct {
			Results []outcome `json:"results"`
		}
		if err := call(tasks+"/await", secret, map[string]any{"task_ids": []string{task.ID}, "wait_seconds": 20}, &ended); err != nil {
			return err
		}
		switch result := ended.Results[0]; result.Place {
		case "done":
			fmt.Println(result.Result.Path)
			return nil
		case "dead", "expired", "cancelled":
			return fmt.Errorf("the task is %s", result.Place)
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: go run main.go URL IMAGE")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}
