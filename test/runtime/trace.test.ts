import { describe, expect, it } from '@jest/globals'
import { tracingWanted } from '../../src/runtime/index.ts'

describe('tracingWanted', () => {
  it.each([
    [{ SVC_OTEL_ENABLED: '1' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://x' }, true],
  ])('is true with %j', (environment, wanted) => {
    expect(tracingWanted(environment)).toBe(wanted)
  })
  it.each([{}, { SVC_OTEL_ENABLED: '0' }, { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, { OTEL_SERVICE_NAME: 'x' }])(
    'is false with %j',
    (environment) => {
      expect(tracingWanted(environment)).toBe(false)
    },
  )
})
