import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from './api.ts'

/** Data of the gateway, as a page shows it. After a failed reload, the old data stays beside the error. */
export interface Resource<Data> {
  readonly data: Data | undefined
  readonly error: ApiError | undefined
  readonly isLoading: boolean
  reload(): void
}

/** Loads data when the page opens, and again when `key` changes. */
export function useResource<Data>(key: string, load: () => Promise<Data>): Resource<Data> {
  const [state, setState] = useState<Omit<Resource<Data>, 'reload'> & { key: string }>({
    key,
    data: undefined,
    error: undefined,
    isLoading: true,
  })
  const latest = useRef(0)
  const run = useCallback(() => {
    latest.current += 1
    const call = latest.current
    setState((old) => ({ ...old, key, data: old.key === key ? old.data : undefined, isLoading: true }))
    load().then(
      (data) => {
        if (call === latest.current) setState({ key, data, error: undefined, isLoading: false })
      },
      (thrown: unknown) => {
        if (call === latest.current) setState((old) => ({ ...old, error: toError(thrown), isLoading: false }))
      },
    )
  }, [key])
  useEffect(run, [run])
  return { ...state, reload: run }
}

export function toError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  return new ApiError(0, 'failed', thrown instanceof Error ? thrown.message : String(thrown))
}

/** Calls `run` every `ms` while the page is visible. */
export function useInterval(ms: number, run: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') run()
    }, ms)
    return () => clearInterval(timer)
  }, [ms, run])
}
