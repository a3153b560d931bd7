import { execFile } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFolder } from './folders.ts'
import { ROOT } from './root.ts'
import { exists } from './source-files.ts'

const TOOLS = fileURLToPath(new URL('test/clients/', ROOT))

/** Undefined if the tools of test/clients are installed, otherwise why they cannot be used. */
export function whyNoTools(): string | undefined {
  if (exists('test/clients/node_modules')) return undefined
  return 'the tools are not installed; run npm ci --prefix test/clients'
}

export interface ToolResult {
  readonly exitCode: number
  readonly output: string
}

/** Writes the document to a new folder, with the programs that use generated clients. */
export async function makeToolFolder(document: unknown): Promise<string> {
  const folder = await makeFolder()
  await writeFile(path.join(folder, 'openapi.json'), JSON.stringify(document, null, 2))
  await writeFile(path.join(folder, 'spectral.yaml'), 'extends: ["spectral:oas"]\n')
  await mkdir(path.join(folder, 'generated'))
  for (const program of ['openapi-typescript.ts', 'hey-api.ts'])
    await cp(path.join(TOOLS, program), path.join(folder, program))
  return folder
}

/** Runs a tool in a folder. Resolves with its exit code and everything that it writes. */
export function runTool(folder: string, tool: string, ...parameters: readonly string[]): Promise<ToolResult> {
  const file = path.join(TOOLS, 'node_modules', '.bin', tool)
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  return new Promise((resolve) => {
    execFile(file, parameters, { cwd: folder, env }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ exitCode, output: `${stdout}${stderr}` })
    })
  })
}
