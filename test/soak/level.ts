import { setTimeout as delay } from 'node:timers/promises'
import { type HeapLevel, weighHeaps } from './measure-heap.ts'
import type { Scene } from './scene.ts'
import { measureTree } from './servers/process-tree.ts'

/** The resources of an idle gateway. */
export interface Level extends HeapLevel {
  readonly fds: number
  readonly rssMb: number
}

/** The gateway counts as idle once the number of open files has not changed for this time. */
const STEADY_MS = 3000
const MAX_MS = 30_000

/**
 * Closes the connections to the providers, waits until the gateway is idle, and measures. Clients have closed
 * their connections before. `quiet`: for how many seconds to wait first.
 */
export async function measureLevel(scene: Scene, quiet: number): Promise<Level> {
  const { pid } = scene.gateway()
  await scene.providers.reopen()
  await delay(quiet * 1000)
  await untilSteady(pid)
  const { fds, rssMb } = measureTree(pid)
  await scene.log.read()
  return { ...(await weighHeaps(scene.log.inspectors())), fds, rssMb }
}

async function untilSteady(pid: number): Promise<void> {
  const end = performance.now() + MAX_MS
  let last = measureTree(pid).fds
  let since = performance.now()
  while (performance.now() < end && performance.now() - since < STEADY_MS) {
    await delay(200)
    const { fds } = measureTree(pid)
    if (fds !== last) since = performance.now()
    last = fds
  }
}
