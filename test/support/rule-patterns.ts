import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { RunningGateway } from './gateway.ts'

/** The patterns of the demo user's firewall rules, in order of evaluation. */
export async function patternsOf(gateway: RunningGateway): Promise<string[]> {
  const { body } = await gateway.call('GET', '/v1/firewall-rules')
  return body.data.map(({ pattern }: { pattern: string }) => pattern)
}

/** The names of the snapshot files of a data folder. */
export async function listSnapshots(dataDir: string): Promise<string[]> {
  const names = await readdir(path.join(dataDir, 'snapshots'))
  return names.filter((name) => name.endsWith('.snapshot'))
}
