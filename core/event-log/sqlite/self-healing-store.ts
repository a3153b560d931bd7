import type { SetAsideFile } from './damaged-files.ts'
import { type ExpiringStore, openExpiringStore } from './expiring-store.ts'
import { identifyFile } from './file-guard.ts'
import { isDamageError, isUnusableFileError, setAside } from './set-aside.ts'
import type { OpenRequest } from './worker-protocol.ts'

/**
 * Opens the file of expiring streams. A damaged file is set aside, then and later, and an empty one takes its
 * place; so does one if another process has set the file aside, or if it was removed. Throws SQLite's other
 * errors.
 */
export function openSelfHealingStore(
  request: OpenRequest,
  onSetAside: (file: SetAsideFile) => void,
): ExpiringStore {
  const { file } = request
  let opened: { readonly store: ExpiringStore; readonly identity: string | undefined } | undefined

  function open(): ExpiringStore {
    const found = identifyFile(file)
    let store: ExpiringStore
    try {
      store = openExpiringStore(request)
    } catch (error) {
      if (found === undefined || !request.setsAside || !isUnusableFileError(error)) throw error
      replace(found, error)
      store = openExpiringStore(request)
    }
    opened = { store, identity: identifyFile(file) }
    return store
  }

  function replace(identity: string | undefined, { message }: Error): void {
    const moved = setAside(file, identity, message)
    if (moved !== undefined) onSetAside(moved)
  }

  function current(): ExpiringStore {
    if (opened !== undefined && opened.identity === identifyFile(file)) return opened.store
    close()
    return open()
  }

  function close(): void {
    opened?.store.close()
    opened = undefined
  }

  function run<Result>(call: (store: ExpiringStore) => Result): Result {
    const store = current()
    try {
      return call(store)
    } catch (error) {
      if (!request.setsAside || !isDamageError(error)) throw error
      replace(opened?.identity, error)
      close()
      return call(open())
    }
  }

  open()
  return {
    append: (requests) => run((store) => store.append(requests)),
    readStream: (read) => run((store) => store.readStream(read)),
    deleteStream: (stream) => run((store) => store.deleteStream(stream)),
    sweep: () => run((store) => store.sweep()),
    vacuum: () => run((store) => store.vacuum()),
    close,
  }
}
