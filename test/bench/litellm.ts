import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { BenchGateway } from './gateway.ts'
import { findPort } from './portkey.ts'
import { startProcess } from './processes.ts'

const run = promisify(execFile)
const VERSION = '1.108.7'
const MASTER_KEY = 'sk-bench'

/** Installs LiteLLM's proxy from PyPI into a separate folder, and starts it with the upstream as OpenAI. */
export async function startLiteLlm(folder: string, upstream: string): Promise<BenchGateway> {
  const place = path.join(folder, 'litellm')
  mkdirSync(place)
  await run('python3', ['-m', 'venv', place])
  await run(path.join(place, 'bin/pip'), ['install', '--quiet', `litellm[proxy]==${VERSION}`])
  const settings = path.join(place, 'config.json')
  const litellm_params = { model: 'openai/gpt-4o', api_base: `${upstream}/openai/v1`, api_key: 'x' }
  const content = {
    model_list: [{ model_name: 'gpt-4o', litellm_params }],
    general_settings: { master_key: MASTER_KEY },
  }
  // JSON is YAML, which the proxy reads.
  writeFileSync(settings, JSON.stringify(content))
  const port = await findPort()
  const args = ['--config', settings, '--host', '127.0.0.1', '--port', String(port)]
  const process = await startProcess(
    ['-c', 'exec "$0" "$@" 2>&1', path.join(place, 'bin/litellm'), ...args],
    { HOME: place, LITELLM_TELEMETRY: 'False', LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
    (line) => line.includes('Uvicorn running on'),
    '/bin/sh',
  )
  return { url: `http://127.0.0.1:${port}`, headers: { authorization: `Bearer ${MASTER_KEY}` }, process }
}
