// Checks pods by the restricted Pod Security Standard, with the code of Kubernetes' admission controller. Reads
// JSON lines, a pod template each, and prints what they violate.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func main() {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	exitOn(err)
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for pods := json.NewDecoder(os.Stdin); ; {
		var pod corev1.PodTemplateSpec
		if err := pods.Decode(&pod); errors.Is(err, io.EOF) {
			return
		} else {
			exitOn(err)
		}
		for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
			if !result.Allowed {
				fmt.Printf("%s: %s\n", result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
