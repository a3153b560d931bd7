import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** Starts the module `name` (no extension) beside the module `base` in a worker thread, compiled or from source alike. */
export function startThread(name: string, base: string, options: WorkerOptions = {}): Worker {
  const extension = extname(base)
  const script = new URL(name + extension, base)
  return new Worker(script, extension === '.ts' ? { ...options, execArgv: registerTsx(base) } : options)
}

/** tsx leaves the worker threads of Node 20 alone (privatenumber/tsx#354), so the worker has to register it by itself. */
function registerTsx(base: string): string[] {
  const hooks = JSON.stringify(pathToFileURL(createRequire(base).resolve('tsx/esm')))
  return [
    '--import',
    `data:text/javascript,import { register } from 'node:module'; register(${hooks}, { data: {} })`,
  ]
}
