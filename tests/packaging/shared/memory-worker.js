import "throughline/worker";
