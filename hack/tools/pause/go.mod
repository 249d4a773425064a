module muster.dev/hack/tools/pause

go 1.26.0
