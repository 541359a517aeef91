// SPDX-License-Identifier: Apache-2.0
int cnet_empty;
