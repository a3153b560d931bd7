import { parentPort, workerData } from 'node:worker_threads'
import { findFileIssues } from './check-file.ts'

/** Thread that checks `events.db` in a folder once. Posts the issues and ends. */

parentPort?.postMessage(findFileIssues(String(workerData)))
