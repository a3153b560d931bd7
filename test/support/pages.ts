import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { RunningGateway } from './gateway.ts'

const execute = promisify(execFile)

/** The shell blocks of a page (from the project's root) that call the gateway, in order. */
export async function readCurlBlocks(page: string): Promise<readonly string[]> {
  const text = await readFile(new URL(`../../${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/```sh\n(.*?)```/gs)]
    .map(([, block = '']) => block)
    .filter((block) => block.includes('curl'))
}

/** The YAML blocks of a page (from the project's root), in order. */
export async function readYamlBlocks(page: string): Promise<readonly string[]> {
  const text = await readFile(new URL(`../../${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, block = '']) => block)
}

/** Runs a block as it stands, with the demo key, at the gateway's real address. */
export async function runBlock(gateway: RunningGateway, script = ''): Promise<string> {
  const env = { ...process.env, SIGNALBOX_KEY: gateway.demoKey }
  const here = script.replaceAll('http://127.0.0.1:8080', gateway.url).replaceAll('curl ', 'curl --silent ')
  return (await execute('sh', ['-c', here], { env })).stdout
}

/** Pages can be run only where curl is installed. */
export async function hasCurl(): Promise<boolean> {
  return execute('curl', ['--version']).then(
    () => true,
    () => false,
  )
}
