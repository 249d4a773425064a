// Command conformance-client plays scenarios of the contract against a master like a worker and client written in Go:
// gorilla/websocket, net/http and encoding/json with their defaults. It prints one JSON line per scenario.
// Environment: MASTER_URL, ADMIN_TOKEN, WORKER_TOKEN. The master knows the types `brief` (batch) and `probe`
// (continuous).
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// big is 2^53 + 1, the smallest positive integer that a double cannot hold.
const big = 9007199254740993

var (
	base   = os.Getenv("MASTER_URL") + "/api/v1/automations"
	admin  = os.Getenv("ADMIN_TOKEN")
	worker = os.Getenv("WORKER_TOKEN")
	client = &http.Client{Timeout: 15 * time.Second}
)

type object = map[string]any

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func require(holds bool, format string, args ...any) {
	if !holds {
		panic(fmt.Errorf(format, args...))
	}
}

// call sends one request and decodes the response into out, which may be nil. It returns the status.
func call(method, path, token string, body, out any) int {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		check(err)
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, base+path, reader)
	check(err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	check(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(err)
	if out != nil {
		require(response.StatusCode == 200, "%s %s: %d %s", method, path, response.StatusCode, text)
		check(json.Unmarshal(text, out))
	}
	return response.StatusCode
}

type rpcCall struct {
	Version string `json:"jsonrpc"`
	ID      int64  `json:"id"`
	Method  string `json:"method"`
	Params  object `json:"params"`
}

type task struct {
	ID      string `json:"task_id"`
	Token   int64  `json:"token"`
	Payload struct {
		ID int64 `json:"id"`
	} `json:"payload"`
}

type rpcReply struct {
	ID     int64 `json:"id"`
	Result struct {
		Tasks   []task `json:"tasks"`
		Results []struct {
			OK    bool   `json:"ok"`
			Error string `json:"error"`
		} `json:"results"`
	} `json:"result"`
	Error object `json:"error"`
}

func rpc(id int64, method string, params object) (reply rpcReply) {
	call("POST", "/brief/workers/go-1/rpc", worker, rpcCall{"2.0", id, method, params}, &reply)
	require(reply.Error == nil, "%s: %v", method, reply.Error)
	return reply
}

func reserve() task {
	tasks := rpc(1, "tasks.reserve", object{"limit": 1}).Result.Tasks
	require(len(tasks) == 1, "%d tasks reserved, 1 expected", len(tasks))
	return tasks[0]
}

func ack(id string, token int64) (ok bool, reason string) {
	results := rpc(1, "tasks.ack", object{"tasks": []object{{"task_id": id, "token": token}}}).Result.Results
	require(len(results) == 1, "%d results, 1 expected", len(results))
	return results[0].OK, results[0].Error
}

// eventually polls until holds returns true, for at most 15 s.
func eventually(what string, holds func() bool) {
	for deadline := time.Now().Add(15 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		require(time.Now().Before(deadline), "%s: timed out after 15 s", what)
	}
}

// connect opens a control channel, registers, and waits for the record. The optional instance_id is null.
func connect(kind, id string) *websocket.Conn {
	path := "/" + kind + "/workers/" + id
	address := strings.Replace(base, "http", "ws", 1) + path + "/control"
	conn, _, err := websocket.DefaultDialer.Dial(address, http.Header{"Authorization": {"Bearer " + worker}})
	check(err)
	go func() {
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
		}
	}()
	hardware := object{"cores": 4, "ram_gb": 7.5, "hostname": "go", "kernel": "6.1.0"}
	check(conn.WriteJSON(object{
		"type": "register", "worker_id": id, "automation_type": kind, "protocol_version": 1,
		"hardware": hardware, "instance_id": nil,
	}))
	eventually("the record of "+id, func() bool { return call("GET", path, admin, nil, nil) == 200 })
	return conn
}

// frames sends an output of 512 KiB. The write buffer of gorilla/websocket splits it into 128 fragments of 4 KiB.
func frames() {
	conn := connect("probe", "go-2")
	now := float64(time.Now().UnixMilli()) / 1000
	check(conn.WriteJSON(object{"type": "state", "state": "RUNNING", "config_gen": 0, "ts": now, "last_error": nil}))
	check(conn.WriteJSON(object{
		"type": "stats", "slots": 2, "cpu_pct": 12.5, "rss_mb": 80, "ts": now, "metrics": object{},
	}))
	writer, err := conn.NextWriter(websocket.TextMessage)
	check(err)
	payload := object{"text": strings.Repeat("x", 512*1024)}
	check(json.NewEncoder(writer).Encode(object{"type": "output", "slot_id": 1, "ts": now, "payload": payload}))
	check(writer.Close())
	var length struct{ Length int }
	eventually("one output", func() bool {
		call("GET", "/probe/output/length", admin, nil, &length)
		return length.Length == 1
	})
	var record struct {
		Connected bool
		State     string
		Stats     *object `json:"current_stats"`
	}
	eventually("state and stats", func() bool {
		call("GET", "/probe/workers/go-2", admin, nil, &record)
		return record.Connected && record.State == "RUNNING" && record.Stats != nil
	})
}

func bigPayload() {
	call("POST", "/brief/tasks", admin, object{"payload": object{"id": int64(big)}}, &object{})
	var queue struct{ Items []task }
	call("GET", "/brief/queue", admin, nil, &queue)
	require(len(queue.Items) == 1 && queue.Items[0].Payload.ID == big, "the queue shows %+v", queue)
	reserved := reserve()
	require(reserved.Payload.ID == big, "tasks.reserve returned %d", reserved.Payload.ID)
	ack(reserved.ID, reserved.Token)
}

func since() {
	for _, text := range []string{"1.7953946295E9", fmt.Sprint(1795394629.5)} {
		status := call("GET", "/brief/workers/go-1/stats?since="+url.QueryEscape(text), admin, nil, nil)
		require(status == 200, "since=%s: %d", text, status)
	}
}

func bigCallID() {
	id := rpc(big, "kv.get", object{"key": "k"}).ID
	require(id == big, "the id came back as %d", id)
}

// batch sends 8 waiting reserves of one worker in one batch. Each of them gets one of 8 tasks.
func batch() {
	var calls []rpcCall
	for id := int64(1); id <= 8; id++ {
		calls = append(calls, rpcCall{"2.0", id, "tasks.reserve", object{"limit": 1, "wait_ms": 10000}})
	}
	go func() {
		time.Sleep(200 * time.Millisecond)
		for range calls {
			call("POST", "/brief/tasks", admin, object{"payload": object{}}, &object{})
		}
	}()
	var replies []rpcReply
	call("POST", "/brief/workers/go-1/rpc", worker, calls, &replies)
	require(len(replies) == 8, "%d replies", len(replies))
	for _, reply := range replies {
		require(len(reply.Result.Tasks) == 1, "call %d got %d tasks", reply.ID, len(reply.Result.Tasks))
		ack(reply.Result.Tasks[0].ID, reply.Result.Tasks[0].Token)
	}
}

func foreignToken() {
	tasks := []object{{"payload": object{}}, {"payload": object{}}}
	call("POST", "/brief/tasks/batch", admin, object{"tasks": tasks}, &object{})
	first, second := reserve(), reserve()
	ok, reason := ack(first.ID, first.Token)
	require(ok, "the first ack failed: %s", reason)
	ok, reason = ack(second.ID, first.Token)
	require(!ok && reason == "lease_lost", "ok %v, error %q", ok, reason)
	ok, reason = ack(second.ID, second.Token)
	require(ok, "the ack with its own token failed: %s", reason)
}

// nulls sends every optional field of a task and of tasks.reserve as null.
func nulls() {
	optional := object{
		"payload": object{}, "task_id": nil, "priority": nil, "ttl_seconds": nil, "max_attempts": nil,
		"idempotency_key": nil,
	}
	call("POST", "/brief/tasks", admin, optional, &object{})
	tasks := rpc(1, "tasks.reserve", object{"limit": 1, "wait_ms": nil, "poll_id": nil}).Result.Tasks
	require(len(tasks) == 1, "%d tasks reserved, 1 expected", len(tasks))
	ack(tasks[0].ID, tasks[0].Token)
}

func play(row string, scenario func()) {
	defer func() {
		err := recover()
		detail := ""
		if err != nil {
			detail = fmt.Sprint(err)
		}
		check(json.NewEncoder(os.Stdout).Encode(object{"row": row, "ok": err == nil, "detail": detail}))
	}()
	scenario()
}

func main() {
	play("D5", func() { connect("brief", "go-1") })
	play("D74", frames)
	play("D75a", bigPayload)
	play("D76b", since)
	play("D75d", bigCallID)
	play("D78", batch)
	play("D80a", foreignToken)
	play("D76a", nulls)
}
