"""Programs of the graphics card (GLSL 1.20) and the colours that belong to them."""

from __future__ import annotations

from typing import Any

BODY_VERTEX = """
uniform mat4 u_to_clip;
attribute vec3 a_position;   // relative to the camera's target
attribute vec3 a_normal;
attribute vec4 a_color;
varying vec3 v_position;
varying vec3 v_normal;
varying vec4 v_color;
void main() {
    v_position = a_position;
    v_normal = a_normal;
    v_color = vec4(a_color.rgb * a_color.rgb, a_color.a);  // to linear light, near enough
    gl_Position = u_to_clip * vec4(a_position, 1.0);
}
"""

# One warm light from `u_light`, a dim sky above and a bounce from below, a little gloss; edges that
# turn away from the eye are darker, so that limbs of one colour stand out against each other.
BODY_FRAGMENT = """
uniform vec3 u_eye;
uniform vec3 u_light;        // unit, towards the light
uniform float u_ground;      // height under which everything is hidden by the ground
varying vec3 v_position;
varying vec3 v_normal;
varying vec4 v_color;
void main() {
    if (v_position.z < u_ground) discard;
    vec3 n = normalize(v_normal);
    vec3 to_eye = normalize(u_eye - v_position);
    float facing = max(dot(n, to_eye), 0.0);
    float key = max(dot(n, u_light), 0.0);
    vec3 sky = mix(vec3(0.30, 0.28, 0.27), vec3(0.52, 0.55, 0.59), 0.5 + 0.5 * n.z);
    vec3 light = sky + key * vec3(0.95, 0.91, 0.85);
    float edge = mix(0.60, 1.0, smoothstep(0.0, 0.55, facing));
    float gloss = 0.06 * pow(max(dot(n, normalize(u_light + to_eye)), 0.0), 24.0);
    vec3 color = sqrt(v_color.rgb * light * edge + gloss);
    gl_FragColor = vec4(color * v_color.a, v_color.a);
}
"""

# A plane of the scene: lit as bodies are, with lines around its squares as far as they can be told apart, and a rim.
FLOOR_VERTEX = """
uniform mat4 u_to_clip;
attribute vec3 a_position;   // relative to the camera's target
attribute vec3 a_normal;
attribute vec4 a_color;
attribute vec2 a_place;      // in cells
attribute vec2 a_span;       // -1 .. 1
varying vec3 v_position;
varying vec3 v_normal;
varying vec4 v_color;
varying vec2 v_place;
varying vec2 v_span;
void main() {
    v_position = a_position;
    v_normal = a_normal;
    v_color = vec4(a_color.rgb * a_color.rgb, a_color.a);
    v_place = a_place;
    v_span = a_span;
    gl_Position = u_to_clip * vec4(a_position, 1.0);
}
"""

FLOOR_FRAGMENT = """
uniform vec3 u_light;
uniform float u_ground;
varying vec3 v_position;
varying vec3 v_normal;
varying vec4 v_color;
varying vec2 v_place;
varying vec2 v_span;
void main() {
    if (v_position.z < u_ground) discard;
    vec3 n = normalize(v_normal);
    vec3 sky = mix(vec3(0.30, 0.28, 0.27), vec3(0.52, 0.55, 0.59), 0.5 + 0.5 * n.z);
    vec3 light = 0.5 * sky + max(dot(n, u_light), 0.0) * vec3(1.30, 1.25, 1.17);  // slopes stand out
    vec2 width = fwidth(v_place);
    vec2 away = abs(fract(v_place - 0.5) - 0.5) / max(width, 1e-6);
    vec2 lines = (1.0 - smoothstep(0.5, 1.5, away)) * (1.0 - smoothstep(0.10, 0.35, width));
    vec3 color = sqrt(v_color.rgb * light) * (1.0 - 0.22 * max(lines.x, lines.y));
    vec2 inside = (1.0 - abs(v_span)) / max(fwidth(v_span), 1e-6);
    color *= 1.0 - 0.35 * (1.0 - smoothstep(1.5, 2.5, min(inside.x, inside.y)));
    gl_FragColor = vec4(color * v_color.a, v_color.a);
}
"""

PLANE_VERTEX = """
uniform mat4 u_to_clip;
attribute vec3 a_position;
attribute vec2 a_place;      // in cells
attribute vec2 a_span;       // -1 .. 1
varying vec2 v_place;
varying vec2 v_span;
void main() {
    v_place = a_place;
    v_span = a_span;
    gl_Position = u_to_clip * vec4(a_position, 1.0);
}
"""

# Lines one and a half pixels wide at any distance; where cells are smaller than a few pixels the lines fade.
PLANE_FRAGMENT = """
uniform vec4 u_line;
uniform vec4 u_fill;
varying vec2 v_place;
varying vec2 v_span;
void main() {
    float fade = 1.0 - smoothstep(0.15, 1.0, length(v_span));
    vec2 width = fwidth(v_place);
    vec2 away = abs(fract(v_place - 0.5) - 0.5) / max(width, 1e-6);
    vec2 lines = (1.0 - smoothstep(0.3, 1.1, away)) * (1.0 - smoothstep(0.10, 0.35, width));
    float line = max(lines.x, lines.y) * u_line.a;
    vec3 color = mix(u_fill.rgb, u_line.rgb, line);
    float cover = fade * (u_fill.a + (1.0 - u_fill.a) * line);
    gl_FragColor = vec4(color * cover, cover);
}
"""

SCREEN_VERTEX = """
attribute vec2 a_corner;
varying vec2 v_corner;
void main() {
    v_corner = 0.5 + 0.5 * a_corner;
    gl_Position = vec4(a_corner, 0.0, 1.0);
}
"""

BACKDROP_FRAGMENT = """
uniform vec3 u_top;
uniform vec3 u_bottom;
varying vec2 v_corner;
void main() {
    gl_FragColor = vec4(mix(u_bottom, u_top, smoothstep(0.0, 1.0, v_corner.y)), 1.0);
}
"""

# Sampled at the corner that four pixels share, linear interpolation is their mean.
AVERAGE_FRAGMENT = """
uniform sampler2D u_drawn;
varying vec2 v_corner;
void main() {
    gl_FragColor = texture2D(u_drawn, v_corner);
}
"""

GROUND_INK: dict[str, Any] = {"line": (0.42, 0.46, 0.50, 0.70), "fill": (0.80, 0.82, 0.83, 0.85), "reach": 4.0}
WALL_INK: dict[str, Any] = {"line": (0.55, 0.60, 0.66, 0.50), "fill": (1.0, 1.0, 1.0, 0.0), "reach": 2.5}
