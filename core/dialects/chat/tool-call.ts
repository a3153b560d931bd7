import type { ToolStart } from '../../contract/index.ts'

/** The beginning of a tool call as chat completions write it; its arguments follow. */
export function toolCallOf({ id, name, extra_content }: ToolStart) {
  return {
    id,
    type: 'function' as const,
    function: { name, arguments: '' },
    ...(extra_content && { extra_content }),
  }
}
