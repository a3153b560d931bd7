import { useEffect, useRef } from 'preact/hooks'
import { route } from '../lib/router.ts'

/**
 * Returns the props of an element that has an address: a page whose parameter has the id scrolls to it and
 * marks it.
 */
export function useAddress<Kind extends HTMLElement>(parameter: string, id: string) {
  const ref = useRef<Kind>(null)
  const isCurrent = route.value.query.get(parameter) === id
  useEffect(() => {
    if (isCurrent) ref.current?.scrollIntoView({ block: 'center' })
  }, [isCurrent])
  return { ref, 'aria-current': isCurrent ? ('true' as const) : undefined }
}
